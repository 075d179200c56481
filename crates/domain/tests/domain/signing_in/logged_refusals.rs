//! Which refused attempts are in the audit log, which strangers cannot fill.

use chrono::TimeDelta;
use keyward_domain::audit::{Action, Outcome, Subject};

use super::{attempt_from, guess_until_throttled, installation_with_ada};

#[tokio::test]
async fn refusals_for_one_account_are_logged_at_a_limited_rate() {
    let (installation, ada) = installation_with_ada();
    for _ in 0..24 {
        for second in 0..60 {
            let address = format!("203.0.113.{second}");
            let attempt = attempt_from(&address, "ada", "guess");
            installation
                .sign_in()
                .sign_in(attempt)
                .await
                .expect_err("a guess");
        }
        installation.builder.clock.advance(TimeDelta::hours(1));
    }

    let events = installation.store.events();
    let recorded = |action| {
        let of_action = events.iter().filter(|event| event.action == action);
        let (own, others): (Vec<_>, Vec<_>) = of_action.partition(|event| event.organization_id.is_none());
        assert_eq!(own.len(), others.len(), "in the log of her organization, too");
        own.len()
    };
    assert_eq!(recorded(Action::SignIn), 20 + 23);
    assert!(
        events
            .iter()
            .all(|event| event.subject == Subject::User(ada.user.id))
    );
    assert!(events.iter().all(|event| event.outcome == Outcome::Refused));
}

#[tokio::test]
async fn first_unchecked_attempt_is_logged_then_hourly() {
    let (installation, ada) = installation_with_ada();
    for hour in 1..=3 {
        guess_until_throttled(&installation, "192.0.2.7").await;
        guess_until_throttled(&installation, "192.0.2.8").await;
        let events = installation.store.events();
        let limited = events
            .iter()
            .filter(|event| event.action == Action::LimitAttempts);
        let limited: Vec<_> = limited
            .map(|event| (event.organization_id, event.subject))
            .collect();
        let user = Subject::User(ada.user.id);
        assert_eq!(
            limited,
            [(None, user), (Some(ada.organization.id), user)].repeat(hour)
        );
        installation.builder.clock.advance(TimeDelta::hours(1));
    }
}

#[tokio::test]
async fn guesses_at_unknown_usernames_do_not_flood_the_log() {
    let (installation, _) = installation_with_ada();
    for number in 0..2_000 {
        let (name, address) = (format!("nobody-{number}"), format!("203.0.{}.7", number % 200));
        let attempt = attempt_from(&address, &name, "guess");
        installation
            .sign_in()
            .sign_in(attempt)
            .await
            .expect_err("a guess");
    }

    assert_eq!(installation.store.events().len(), 60);
}
