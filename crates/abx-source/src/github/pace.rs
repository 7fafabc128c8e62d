//! How slow a transfer may be, and how often one is begun anew.

use std::time::Duration;

/// Fewer bytes a second than this is no link but a way to keep us waiting: it is less than half of what the slowest
/// mobile networks reach, and at this pace a small repository takes minutes.
pub(super) const SLOWEST: u64 = 1024;

/// Before each further attempt at what often goes right a moment later. Nobody should have to wait for more in silence.
pub(super) const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];

/// Measures a transfer. Only the time spent waiting for the other side counts, so that a slow disk of ours does
/// not make a link slow; and only whole windows, so that a link that is slow at times goes on.
pub(super) struct Pace {
    window: Duration,
    waited: Duration,
    bytes: u64,
}

impl Pace {
    pub(super) fn new(window: Duration) -> Self {
        Self { window, waited: Duration::ZERO, bytes: 0 }
    }

    /// Takes `bytes` that came after having been `waited` for. False where too few came in the last window.
    pub(super) fn keeps(&mut self, bytes: usize, waited: Duration) -> bool {
        self.waited += waited;
        self.bytes += bytes as u64;
        if self.waited < self.window {
            return true;
        }
        let is_enough = self.bytes as f64 >= SLOWEST as f64 * self.waited.as_secs_f64();
        (self.waited, self.bytes) = (Duration::ZERO, 0);
        is_enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_link_goes_on_and_a_drip_does_not() {
        let second = Duration::from_secs(1);
        let runs = |chunks: &[(usize, u32)]| {
            let mut pace = Pace::new(second * 30);
            chunks.iter().all(|(bytes, seconds)| pace.keeps(*bytes, second * *seconds))
        };
        for (chunks, expected) in [
            (vec![(1, 10); 3], false),
            (vec![(1500, 1); 300], true),
            // A pause, and then what had piled up.
            (vec![(0, 20), (64 << 10, 10), (0, 20), (64 << 10, 10)], true),
            (vec![(64 << 10, 30), (100, 29), (100, 1)], false),
            // Short of a window nothing is decided.
            (vec![(1, 1); 29], true),
        ] {
            assert_eq!(runs(&chunks), expected, "{chunks:?}");
        }
    }
}
