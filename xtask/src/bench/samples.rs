//! Many measurements of one thing, and what they say.

/// Measurements, in ascending order; never empty.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    /// `None` for no measurements.
    pub(crate) fn new(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        (!values.is_empty()).then_some(Self(values))
    }

    /// All of them, ascending.
    pub(crate) fn values(&self) -> &[f64] {
        &self.0
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The middle one, or the mean of the two in the middle.
    pub(crate) fn median(&self) -> f64 {
        let middle = self.0.len() / 2;
        if self.0.len() % 2 == 1 { self.0[middle] } else { self.0[middle - 1].midpoint(self.0[middle]) }
    }

    /// The smallest one that `percent` of all do not exceed (nearest rank).
    pub(crate) fn percentile(&self, percent: usize) -> f64 {
        let rank = (self.0.len() * percent).div_ceil(100);
        self.0[rank.max(1) - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::Samples;

    #[test]
    fn median_and_nearest_rank() {
        let samples = |values: &[f64]| Samples::new(values.to_vec()).expect("some");
        assert_eq!(samples(&[3.0, 1.0, 2.0]).median(), 2.0);
        assert_eq!(samples(&[4.0, 1.0, 2.0, 3.0]).median(), 2.5);
        let hundred = samples(&(1..=100).map(f64::from).collect::<Vec<_>>());
        assert_eq!((hundred.percentile(95), hundred.percentile(99)), (95.0, 99.0));
        assert_eq!(samples(&[7.0]).percentile(95), 7.0);
        assert_eq!(Samples::new(Vec::new()), None);
    }
}
