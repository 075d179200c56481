//! A search of the log that stopped before the page was full.

use std::sync::Arc;

use keyward_domain::administration::AuditTrail;
use keyward_domain::audit::{Action, Subject};
use keyward_domain::membership::Role;
use keyward_domain::page::Page;
use keyward_domain::ports::{AuditPosition, MockAuditLog};
use keyward_domain::testing::TestInstallation;

use super::{LOG, as_owner};
use crate::running::Running;

#[tokio::test]
async fn stopped_search_reports_its_reach_and_links_on() {
    for (finds_one, words) in [
        (
            false,
            "No events match so far Searched back to 31 January 2026, 12:00:00 UTC.",
        ),
        (true, "Searched back to 31 January 2026, 12:00:00 UTC."),
    ] {
        let installation = TestInstallation::new();
        let acme = installation.organization("Acme");
        let ada = installation.member(&acme, "ada", Role::Owner);
        let act = installation.builder.act(as_owner(&ada));
        let event = act.event(Action::EditApiKey, Subject::User(ada.user.id));
        let end = AuditPosition {
            at: "2026-01-31T12:00:00Z".parse().unwrap(),
            id: installation.builder.ids.next(),
        };
        let mut log = MockAuditLog::new();
        log.expect_list().returning(move |_, _, _| {
            Ok(Page {
                items: finds_one.then(|| event.clone()).into_iter().collect(),
                next: Some(end),
            })
        });
        let store = Arc::new(installation.store.clone());
        let trail = AuditTrail::new(
            Arc::new(log),
            Arc::clone(&store) as _,
            store,
            installation.builder.sources.clone(),
        );
        let running = Running::with(installation, None, |console| console.audit_trail = trail).await;
        let filtered = format!("{LOG}?who=ada&action=api_key.edit");
        let page = running.signed_in("ada").await.get(&filtered).await;
        let text = page.text();
        assert_eq!(page.status, 200, "{text}");
        assert!(text.contains(words), "{text}");
        let older = format!("{}%3A{}", end.at.timestamp_millis(), end.id);
        assert!(page.shows(&older) && page.shows("rel=\"next\""), "{}", page.body);
    }
}
