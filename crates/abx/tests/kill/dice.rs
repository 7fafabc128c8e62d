//! Chance that can be repeated.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A generator (xorshift, multiplied) and the seed it began with.
pub(crate) struct Dice {
    seed: u64,
    state: u64,
}

/// A seed for a run that is like no other.
pub(crate) fn seed_of_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64 % 1_000_000)
}

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        // The state must not be zero, and near seeds must not give near sequences.
        Self { seed, state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 }
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    fn next(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// One of `items`; `None` where there is none.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let number = self.next();
        (!items.is_empty()).then(|| &items[(number % items.len() as u64) as usize])
    }

    /// True once in `times`.
    pub(crate) fn one_in(&mut self, times: u64) -> bool {
        self.next().is_multiple_of(times)
    }

    /// Up to `longest`, and rather early: most is going on at the start.
    pub(crate) fn duration(&mut self, longest: Duration) -> Duration {
        let part = (self.next() % 1000) as f64 / 1000.0;
        longest.mul_f64(part * part)
    }
}
