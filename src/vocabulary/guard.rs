//! A wall around foreign code that may end in a panic on input it does not expect.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::{Mutex, PoisonError};

/// One at a time: the hook that tells of panics belongs to the whole process.
static GUARDED: Mutex<()> = Mutex::new(());

/// What some work gives; `None` when it panics, of which nobody is told. The work must leave nothing behind but its result.
pub fn without_panic<T>(work: impl FnOnce() -> T) -> Option<T> {
    let guarded = GUARDED.lock().unwrap_or_else(PoisonError::into_inner);
    let hook = take_hook();
    set_hook(Box::new(|_| {}));
    let result = catch_unwind(AssertUnwindSafe(work)).ok();
    set_hook(hook);
    drop(guarded);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_no_result_and_the_next_work_is_done() {
        let places: [u8; 1] = [7];
        let at = |place: usize| without_panic(|| places[place]);
        assert_eq!((at(0), at(1), at(0)), (Some(7), None, Some(7)));
    }
}
