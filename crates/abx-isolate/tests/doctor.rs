//! The host's report and the state on the host agree.

mod common;

use abx_isolate::{Feature, host_report};

#[test]
fn every_lack_comes_with_a_remedy() {
    let report = host_report();
    let mut features: Vec<Feature> = report.iter().map(|check| check.feature).collect();
    features.dedup();
    assert_eq!(features.len(), report.len(), "each feature once");
    for check in report {
        assert_eq!(check.ok, check.fix.is_none(), "{check:?}");
        assert!(!check.detail.is_empty(), "{check:?}");
    }
}
