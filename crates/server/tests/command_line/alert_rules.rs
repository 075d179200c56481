//! The alert rules for Prometheus and the dashboard for Grafana, as the documentation has them.

use crate::metrics::{DOCUMENT, named, promtool};

const RULES: &str = include_str!("../../../../docs/observability/keyward-rules.yaml");
const DASHBOARD: &str = include_str!("../../../../docs/observability/keyward-dashboard.json");

#[test]
fn alert_rules_pass_promtool() {
    promtool(&["check", "rules", "--lint-fatal", "/dev/stdin"], RULES);
}

#[test]
fn alert_rules_fire_for_faults_and_for_nothing_else() {
    let cases = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/command_line/alert_rules.yaml");
    promtool(&["test", "rules", cases], "");
}

#[test]
fn rules_and_dashboard_name_only_documented_metrics() {
    let documented = named(DOCUMENT);
    let unknown = |text| named(text).difference(&documented).cloned().collect::<Vec<_>>();
    assert_eq!(unknown(RULES), Vec::<String>::new());
    let _: serde_json::Value = serde_json::from_str(DASHBOARD).unwrap();
    assert_eq!(named(DASHBOARD), documented);
}
