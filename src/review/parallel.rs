//! The pools of a run on every core there is; the answers come back in order, so that nothing shows how many there were.

use std::thread;

/// Most threads; pools are few and a scheduled job shares its machine.
const MOST_THREADS: usize = 8;

/// What `judge` says of each item, in order.
pub(super) fn map<T: Sync, R: Send>(items: &[T], judge: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get).min(MOST_THREADS);
    let size = items.len().div_ceil(threads).max(1);
    thread::scope(|scope| {
        let judge = &judge;
        let parts: Vec<_> =
            items.chunks(size).map(|part| scope.spawn(move || part.iter().map(judge).collect::<Vec<R>>())).collect();
        parts.into_iter().flat_map(|part| part.join().expect("judging a pool does not panic")).collect()
    })
}
