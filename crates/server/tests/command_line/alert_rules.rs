//! The alert rules for Prometheus and the dashboard for Grafana, as the documentation has them.

use serde_json::Value;

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
    assert_eq!(named(DASHBOARD), documented);
}

/// All values of members with this name.
fn members<'a>(value: &'a Value, name: &str, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(object) => {
            found.extend(object.get(name).and_then(Value::as_str));
            object.values().for_each(|value| members(value, name, found));
        }
        Value::Array(array) => array.iter().for_each(|value| members(value, name, found)),
        _ => {}
    }
}

#[test]
fn queries_of_the_dashboard_pass_promtool() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let mut queries = Vec::new();
    members(&dashboard, "expr", &mut queries);
    assert!(queries.len() > 30, "{queries:?}");
    let rules = queries.iter().enumerate().map(|(number, query)| {
        let query = query.replace("$__rate_interval", "5m").replace("$job", "keyward");
        let query = query.replace("$instance", ".+");
        assert!(!query.contains('$'), "{query}");
        serde_json::json!({"record": format!("query:{number}"), "expr": query})
    });
    let rules: Vec<Value> = rules.collect();
    let groups = serde_json::json!({"groups": [{"name": "dashboard", "rules": rules}]});
    promtool(
        &["check", "rules", "--lint-fatal", "/dev/stdin"],
        &groups.to_string(),
    );
}

#[test]
fn every_alert_has_a_case_that_fires() {
    let alerts = RULES
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "));
    let alerts: Vec<&str> = alerts.collect();
    assert!(alerts.len() > 10, "{alerts:?}");
    let cases = include_str!("alert_rules.yaml").split("alertname: ").skip(1);
    let fires = |alert: &&str| {
        let mut of_alert = cases.clone().filter(|case| case.lines().next() == Some(*alert));
        of_alert.any(|case| case.contains("exp_alerts:"))
    };
    let silent: Vec<&str> = alerts.into_iter().filter(|alert| !fires(alert)).collect();
    assert_eq!(silent, Vec::<&str>::new());
}
