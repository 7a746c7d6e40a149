//! Work that several threads share and one takes up in order: large pieces begin early, and what waits to be taken up is
//! bounded.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex, MutexGuard};

/// A piece of at least so many bytes begins before its turn.
const LARGE: u64 = 1 << 25;
/// Bytes of finished work that may wait.
const MOST_HELD: usize = 1 << 23;

/// Pieces of work by number, and what came of those that are done.
pub(super) struct Queue<T> {
    /// Where everything stands.
    state: Mutex<State<T>>,
    /// Rung when something is done or taken up.
    bell: Condvar,
}

/// Where everything stands.
struct State<T> {
    /// Numbers of all pieces, ascending.
    order: Vec<u32>,
    /// How many of them have begun or were passed.
    begun: usize,
    /// Large pieces that have not begun, the largest last.
    large: Vec<u32>,
    /// Large pieces that began before their turn.
    early: BTreeSet<u32>,
    /// What is done, with the bytes it holds.
    done: BTreeMap<u32, (T, usize)>,
    /// Bytes held by all of it.
    held: usize,
    /// The piece that is to be taken up next.
    wanted: u32,
    /// Threads that wait for the bell.
    waiting: usize,
    /// Whether a thread has panicked: nobody waits for what it had begun.
    is_broken: bool,
}

/// Tells the others when its thread panics.
pub(super) struct Watch<'a, T>(&'a Queue<T>);

impl<T> Drop for Watch<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            if let Ok(mut state) = self.0.state.lock() {
                state.is_broken = true;
            }
            self.0.bell.notify_all();
        }
    }
}

/// What a thread may do.
#[derive(Debug, PartialEq, Eq)]
enum Turn {
    /// Begin this piece.
    Begin(u32),
    /// Wait until something has been taken up.
    Wait,
    /// Nothing is left to begin.
    Over,
}

impl<T> State<T> {
    /// What the next thread may do. A piece that is wanted may always begin, so that no two threads wait for each other.
    fn turn(&mut self) -> Turn {
        if self.is_broken {
            return Turn::Over;
        }
        while self.order.get(self.begun).is_some_and(|next| self.early.remove(next)) {
            self.begun += 1;
        }
        let is_full = self.held > MOST_HELD;
        if !is_full && let Some(large) = self.large.pop() {
            self.early.insert(large);
            return Turn::Begin(large);
        }
        match self.order.get(self.begun) {
            None => Turn::Over,
            Some(next) if is_full && *next > self.wanted => Turn::Wait,
            Some(next) => {
                self.begun += 1;
                self.large.retain(|large| large != next);
                Turn::Begin(*next)
            }
        }
    }
}

impl<T> Queue<T> {
    /// Pieces by ascending number, each with its size in bytes.
    pub(super) fn new(pieces: &[(u32, u64)]) -> Self {
        let mut large: Vec<_> = pieces.iter().filter(|(_, size)| *size >= LARGE).map(|(n, size)| (*size, *n)).collect();
        large.sort_unstable();
        let state = State {
            order: pieces.iter().map(|(number, _)| *number).collect(),
            begun: 0,
            large: large.into_iter().map(|(_, number)| number).collect(),
            early: BTreeSet::new(),
            done: BTreeMap::new(),
            held: 0,
            wanted: 0,
            waiting: 0,
            is_broken: false,
        };
        Self { state: Mutex::new(state), bell: Condvar::new() }
    }

    /// A guard for a thread that works: while it lives a panic does not leave the others waiting.
    pub(super) fn watch(&self) -> Watch<'_, T> {
        Watch(self)
    }

    /// Does pieces until none is left. `work` gives what comes of one and the bytes that holds.
    pub(super) fn help(&self, mut work: impl FnMut(u32) -> (T, usize)) {
        let mut state = self.lock();
        loop {
            match state.turn() {
                Turn::Begin(number) => state = self.one(state, number, &mut work),
                Turn::Wait => state = self.wait(state),
                Turn::Over => return,
            }
        }
    }

    /// Takes up a piece, the numbers ascending from call to call; until it is done other pieces are.
    pub(super) fn take(&self, number: u32, mut work: impl FnMut(u32) -> (T, usize)) -> T {
        let mut state = self.lock();
        state.wanted = number;
        loop {
            if let Some((taken, bytes)) = state.done.remove(&number) {
                state.held -= bytes;
                self.ring(&state);
                return taken;
            }
            let turn = state.turn();
            if state.is_broken {
                drop(state);
                panic!("a thread that reads has panicked");
            }
            match turn {
                Turn::Begin(number) => state = self.one(state, number, &mut work),
                Turn::Wait | Turn::Over => {
                    self.ring(&state);
                    state = self.wait(state);
                }
            }
        }
    }

    /// Does one piece without the lock.
    fn one<'a>(
        &'a self,
        state: MutexGuard<'a, State<T>>,
        number: u32,
        work: &mut impl FnMut(u32) -> (T, usize),
    ) -> MutexGuard<'a, State<T>> {
        drop(state);
        let (done, bytes) = work(number);
        let mut state = self.lock();
        state.held += bytes;
        state.done.insert(number, (done, bytes));
        self.ring(&state);
        state
    }

    /// Waits for the bell.
    fn wait<'a>(&self, mut state: MutexGuard<'a, State<T>>) -> MutexGuard<'a, State<T>> {
        state.waiting += 1;
        let mut state = self.bell.wait(state).expect("no thread panics while it holds the lock");
        state.waiting -= 1;
        state
    }

    /// Wakes whoever waits.
    fn ring(&self, state: &State<T>) {
        if state.waiting > 0 {
            self.bell.notify_all();
        }
    }

    /// The state, alone.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().expect("no thread panics while it holds the lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of pieces, every seventh large, and what each holds when done: more than may wait.
    fn pieces() -> Vec<(u32, u64)> {
        (0..200).map(|number| (number * 3, if number % 7 == 6 { LARGE + u64::from(number) } else { 1 })).collect()
    }

    #[test]
    fn every_piece_is_done_once_and_taken_up_in_order() {
        let (pieces, counts) = (pieces(), Mutex::new(BTreeMap::new()));
        let queue = Queue::new(&pieces);
        let work = |number: u32| {
            *counts.lock().expect("sound").entry(number).or_insert(0) += 1;
            (number * 2, MOST_HELD / 3)
        };
        std::thread::scope(|scope| {
            scope.spawn(|| queue.help(work));
            scope.spawn(|| queue.help(work));
            for (number, _) in &pieces {
                assert_eq!(queue.take(*number, work), number * 2);
            }
        });
        let counts = counts.into_inner().expect("sound");
        assert_eq!(counts.len(), pieces.len());
        assert!(counts.values().all(|count| *count == 1));
        assert_eq!(queue.lock().held, 0, "nothing is left over");
    }

    #[test]
    fn a_thread_that_panics_leaves_nobody_waiting() {
        let queue: Queue<()> = Queue::new(&[(0, 1), (1, 1)]);
        let outcome = std::thread::scope(|scope| {
            let helper = scope.spawn(|| {
                let _watch = queue.watch();
                queue.help(|_| panic!("as a test wants it"));
            });
            let taker = scope.spawn(|| {
                let _watch = queue.watch();
                while !queue.lock().is_broken {}
                queue.take(0, |_| ((), 1));
            });
            [helper.join().is_err(), taker.join().is_err()]
        });
        assert_eq!(outcome, [true, true]);
    }

    #[test]
    fn large_pieces_begin_first_and_a_full_house_lets_only_the_wanted_one_begin() {
        let queue: Queue<()> = Queue::new(&[(1, 1), (4, LARGE), (7, 1), (9, LARGE * 2)]);
        let mut state = queue.lock();
        assert_eq!(state.turn(), Turn::Begin(9));
        state.held = MOST_HELD + 1;
        state.wanted = 1;
        assert_eq!(state.turn(), Turn::Begin(1));
        assert_eq!(state.turn(), Turn::Wait, "4 is not wanted");
        state.wanted = 4;
        assert_eq!(state.turn(), Turn::Begin(4), "its turn has come");
        state.held = 0;
        assert_eq!([state.turn(), state.turn()], [Turn::Begin(7), Turn::Over]);
    }
}
