//! Has one member's success changed lately, class by class? (methods §10; Cochran 1954, Mantel and Haenszel 1959.)

/// |z| beyond which a note is made: 99 %, two-sided.
pub const DRIFT_Z: f64 = 2.58;
/// Rows each side needs in total.
const ROWS: f64 = 8.0;

/// Raw successes and rows of the last days and of the days before, in one class.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DriftClass {
    /// Successes and rows of the recent span.
    pub recent: (f64, f64),
    /// Successes and rows of the span before.
    pub before: (f64, f64),
}

/// `[fn drift]`: the stratified z; `None` below 8 rows on a side or without variance. A change of the mix alone moves it not.
pub fn drift<'a>(classes: impl IntoIterator<Item = &'a DriftClass>) -> Option<f64> {
    let (mut gap, mut variance, mut recent_rows, mut before_rows) = (0.0, 0.0, 0.0, 0.0);
    for class in classes {
        let ((s_r, n_r), (s_b, n_b)) = (class.recent, class.before);
        recent_rows += n_r;
        before_rows += n_b;
        if n_r > 0.0 && n_b > 0.0 {
            let weight = n_r * n_b / (n_r + n_b);
            let pooled = (s_r + s_b) / (n_r + n_b);
            gap += weight * (s_r / n_r - s_b / n_b);
            variance += weight * pooled * (1.0 - pooled);
        }
    }
    (recent_rows >= ROWS && before_rows >= ROWS && variance > 0.0).then(|| gap / variance.sqrt())
}
