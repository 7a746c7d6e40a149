//! Which claims of one run may be made together (methods §8.4): the Bayesian false-discovery prefix.

/// A claim of a run: its id and its probability.
pub type ClaimId<'a> = (&'a str, f64);

/// The claims by probability, and how many of them may be made.
#[derive(Debug, Clone, PartialEq)]
pub struct Prefix<'a> {
    /// Ids by probability descending, ties by id.
    pub order: Vec<&'a str>,
    /// Mean of 1 − p over each prefix.
    pub running_error: Vec<f64>,
    /// Length of the longest prefix within the bound.
    pub kept: usize,
}

/// `[fn fdr_prefix]`: the longest prefix whose mean error is at most `alpha`.
pub fn fdr_prefix<'a>(claims: &[ClaimId<'a>], alpha: f64) -> Prefix<'a> {
    let mut sorted = claims.to_vec();
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let (mut sum, mut count, mut kept) = (0.0, 0.0, 0);
    let mut running_error = Vec::with_capacity(sorted.len());
    for (index, (_, p)) in sorted.iter().enumerate() {
        sum += 1.0 - p;
        count += 1.0;
        running_error.push(sum / count);
        if sum / count <= alpha + 1e-12 {
            kept = index + 1;
        }
    }
    Prefix { order: sorted.into_iter().map(|(id, _)| id).collect(), running_error, kept }
}
