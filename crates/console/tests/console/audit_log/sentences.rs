//! The sentences of events.

use chrono::TimeDelta;
use keyward_domain::audit::{Action, Actor, AuditEvent, Outcome, RequestSource, Subject};
use keyward_domain::clock::Clock;
use keyward_domain::membership::Role;
use keyward_domain::ports::AuditLog;
use keyward_domain::user::DisplayName;

use super::{CSV, JSON_LINES, LOG, as_owner, events, record};
use crate::browser::form;
use crate::invitations::invitation;
use crate::projects::project;
use crate::running::Running;

#[tokio::test]
async fn event_sentence_shows_time_address_request_and_refusal() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let grace = installation.member(&ada.organization, "grace", Role::Member);
    let subject = Subject::Membership(grace.membership.id);
    let event = record(
        installation,
        &ada,
        as_owner(&ada),
        Action::MakeOwner,
        subject,
        None,
    )
    .await;
    let refused = AuditEvent {
        id: installation.builder.ids.next(),
        outcome: Outcome::Refused,
        action: Action::RemoveMember,
        ..event
    };
    installation.store.record(refused).await.unwrap();
    let page = running.signed_in("ada").await.get(LOG).await;
    assert_eq!(page.status, 200);
    let text = events(&page);
    assert!(text.contains("ada changed the role of grace to owner"), "{text}");
    assert!(text.contains("ada removed grace from the organization"), "{text}");
    assert!(
        text.contains("203.0.113.9") && text.contains("Request ID request-17"),
        "{text}"
    );
    assert_eq!(text.matches("Refused").count(), 1, "{text}");
    assert!(
        page.shows("<time datetime=\"2026-01-01T00:00:00.000Z\" title=\"1 January 2026, 00:00:00 UTC\" data-time=\"exact\">1 January 2026, 00:00:00 UTC<")
    );
}

#[tokio::test]
async fn menu_of_an_event_is_named_by_the_event() {
    let (running, ada) = Running::with_ada().await;
    for name in ["Deploy", "Laptop"] {
        running.installation.issue(&ada.as_holder(), name).await;
    }
    let page = running.signed_in("ada").await.get(LOG).await;
    let names: Vec<&str> = page
        .body
        .split("aria-label=\"More about this event:\" aria-labelledby=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert!(names.len() > 1);
    for id in names.iter().flat_map(|name| name.split(' ')) {
        assert_eq!(page.body.matches(&format!(" id=\"{id}\"")).count(), 1, "{id}");
    }
    assert!(
        !page.text().contains("More about"),
        "the name alone says so, once"
    );
}

#[tokio::test]
async fn event_without_address_is_from_the_server_or_unknown() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let key = Subject::ApiKey(installation.issue(&ada.as_holder(), "Deploy").await.key.id);
    for (actor, action) in [
        (Actor::Anonymous, Action::UseApiKey),
        (Actor::System, Action::ExpireApiKey),
        (Actor::Administrator, Action::RevokeApiKey),
    ] {
        let mut act = installation.builder.act(actor);
        act.organization_id = Some(ada.organization.id);
        act.source = RequestSource::default();
        installation.store.record(act.event(action, key)).await.unwrap();
    }
    let page = running.signed_in("ada").await.get(LOG).await;
    let from = |address: &str| {
        page.body
            .matches(&format!("data-label=\"From\"><span>{address}<"))
            .count()
    };
    // The creator of the key has no known address, either.
    assert_eq!((from("unknown"), from("the server")), (2, 2), "{}", page.body);
}

#[tokio::test]
async fn changed_values_are_shown_and_exported() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let key = installation.issue(&ada.as_holder(), "Deploy").await.key;
    let (key, deploy) = (key.id, format!("the API key Deploy {}", key.hint));
    let moment = "2026-01-31T09:00:00.000Z";
    let told = "31 January 2026, 09:00:00 UTC";
    let of_key = format!("changed the expiration of {deploy}");
    for (action, old, new, expected) in [
        (
            Action::ChangeExpiry,
            None,
            Some(moment),
            format!("{of_key} to {told}"),
        ),
        (
            Action::ChangeExpiry,
            Some(moment),
            None,
            format!("{of_key} from {told} to none"),
        ),
        (
            Action::ChangeExpiry,
            Some("P1D"),
            Some("P90D"),
            format!("{of_key} from 1 day to 90 days"),
        ),
        (
            Action::CreateApiKey,
            None,
            Some(moment),
            format!("created {deploy} which expires {told}"),
        ),
        (
            Action::CreateRestrictedApiKey,
            None,
            Some(moment),
            format!("created {deploy} which cannot manage keys and expires {told}"),
        ),
        (
            Action::ExpireApiKey,
            Some(moment),
            None,
            format!("recorded the expiration of {deploy} planned for {told}"),
        ),
        (
            Action::ChangeExpiry,
            Some("<i>"),
            Some("P9D="),
            format!("{of_key} from &#60;i&#62; to P9D="),
        ),
    ] {
        let mut act = installation.builder.act(as_owner(&ada));
        act.organization_id = Some(ada.organization.id);
        let event = AuditEvent {
            old_value: old.map(str::to_owned),
            new_value: new.map(str::to_owned),
            ..act.event(action, Subject::ApiKey(key))
        };
        installation.store.record(event).await.unwrap();
        let browser = running.signed_in("ada").await;
        let text = events(&browser.get(LOG).await);
        assert!(text.contains(&expected), "{text}");
        let csv = browser.get(CSV).await;
        let values = format!(",{},{}", old.unwrap_or_default(), new.unwrap_or_default());
        assert!(
            csv.body.lines().any(|line| line.ends_with(&values)),
            "{}",
            csv.body
        );
        let lines = browser.get(JSON_LINES).await;
        for (name, value) in [("oldValue", old), ("newValue", new)] {
            let expected = value.is_none_or(|value| lines.body.contains(&format!("\"{name}\":\"{value}\"")));
            assert!(expected, "{}", lines.body);
        }
    }
}

#[tokio::test]
async fn every_action_has_a_sentence_naming_its_actor() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let key = installation.issue(&ada.as_holder(), "Deploy").await.key.id;
    for actor in [
        as_owner(&ada),
        Actor::ApiKey(key),
        Actor::Administrator,
        Actor::Anonymous,
    ] {
        for action in Action::ALL {
            record(
                installation,
                &ada,
                actor,
                *action,
                Subject::ApiKey(key),
                Some(Subject::ApiKey(key)),
            )
            .await;
        }
    }
    let browser = running.signed_in("ada").await;
    for (who, name) in [
        (format!("user%3A{}", ada.user.id), "ada"),
        (format!("api_key%3A{key}"), "The API key Deploy"),
        ("administrator%3A".to_owned(), "An administrator on the server"),
        ("anonymous%3A".to_owned(), "Someone not signed in"),
    ] {
        for action in Action::ALL {
            let word = action.as_str();
            let page = browser.get(&format!("{LOG}?who={who}&action={word}")).await;
            let text = events(&page);
            assert!(text.contains(&format!("{name} ")), "{word}: {text}");
        }
    }
}

#[tokio::test]
async fn keys_with_the_same_name_are_distinguished_by_hint() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let [old, new] = [
        installation.issue(&ada.as_holder(), "Deploy").await.key,
        installation.issue(&ada.as_holder(), "Deploy").await.key,
    ];
    let (subject, object) = (Subject::ApiKey(old.id), Some(Subject::ApiKey(new.id)));
    record(
        installation,
        &ada,
        Actor::ApiKey(old.id),
        Action::RotateApiKey,
        subject,
        object,
    )
    .await;
    let page = running.signed_in("ada").await.get(LOG).await;
    let (old, new) = (old.hint, new.hint);
    let told = format!("The API key Deploy {old} rotated the API key Deploy {old} to Deploy {new}");
    assert!(events(&page).contains(&told), "{}", events(&page));
    assert!(page.text().contains(&format!("Only API key Deploy {new}")));
}

#[tokio::test]
async fn actors_with_the_same_name_are_distinguished_by_username() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let mut impostor = installation.builder.user("mallory");
    impostor.display_name = DisplayName::parse("ada").unwrap();
    let membership = installation
        .builder
        .membership(&ada.organization, &impostor, Role::Member);
    let hash = keyward_domain::sign_in::password::PasswordHash::from_phc_string("none".to_owned());
    installation.store.put_user(impostor.clone(), hash);
    installation.store.put_membership(membership.clone());
    for (actor, subject) in [(ada.user.id, membership.id), (impostor.id, ada.membership.id)] {
        let (actor, subject) = (Actor::User(actor), Subject::Membership(subject));
        record(installation, &ada, actor, Action::RemoveMember, subject, None).await;
    }
    let browser = running.signed_in("ada").await;
    let text = events(&browser.get(LOG).await);
    for sentence in [
        "ada removed ada mallory from the organization",
        "ada mallory removed ada from the organization",
    ] {
        assert!(text.contains(sentence), "{sentence}: {text}");
    }
    let chosen = browser.get(&format!("{LOG}?who=mallory")).await;
    assert!(chosen.text().contains("ada mallory"), "{}", chosen.text());
}

#[tokio::test]
async fn removed_subject_is_shown_by_identifier() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let gone = installation.builder.ids.next();
    let project = Subject::Project(gone);
    record(
        installation,
        &ada,
        as_owner(&ada),
        Action::CreateProject,
        project,
        None,
    )
    .await;
    let text = events(&running.signed_in("ada").await.get(LOG).await);
    assert!(
        text.contains(&format!("ada created the project {gone}")),
        "{text}"
    );
}

#[tokio::test]
async fn html_in_names_is_escaped() {
    let script = "<script>alert(1)</script>\"'&";
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let key = installation.issue(&ada.as_holder(), script).await.key.id;
    let mut user = installation.builder.user("grace");
    user.display_name = DisplayName::parse(script).unwrap();
    let membership = installation
        .builder
        .membership(&ada.organization, &user, Role::Member);
    let hash = keyward_domain::sign_in::password::PasswordHash::from_phc_string("none".to_owned());
    installation.store.put_user(user.clone(), hash);
    installation.store.put_membership(membership.clone());
    let (actor, subject) = (Actor::User(user.id), Subject::Membership(membership.id));
    record(
        installation,
        &ada,
        actor,
        Action::AddProjectMember,
        subject,
        Some(Subject::ApiKey(key)),
    )
    .await;
    let browser = running.signed_in("ada").await;
    let chosen = form(&[
        ("who", &format!("user:{}", user.id)),
        ("what", &format!("api_key:{key}")),
    ]);
    for path in [LOG.to_owned(), format!("{LOG}?{chosen}")] {
        let page = browser.get(&path).await;
        assert_eq!(page.status, 200);
        assert!(
            page.shows("&#60;script&#62;") && !page.shows("<script>alert"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn names_in_events_link_to_their_subjects() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let grace = installation.member(&ada.organization, "grace", Role::Member);
    let key = installation.issue(&grace.as_holder(), "Deploy").await.key.id;
    let rover = project(&running, &ada, "Rover").await.id;
    let (added, subject) = (Action::AddProjectMember, Subject::Membership(grace.membership.id));
    let object = Some(Subject::Project(rover));
    record(installation, &ada, as_owner(&ada), added, subject, object).await;
    let browser = running.signed_in("ada").await;
    let page = browser.get(LOG).await;
    let settings = "/organizations/acme/settings";
    for address in [
        format!("{settings}/members/@ada"),
        format!("{settings}/members/{}", grace.membership.id),
        format!("{settings}/projects/{rover}"),
        format!("{settings}/api-keys/all/{key}"),
    ] {
        assert!(
            page.shows(&format!("href=\"{address}\"")),
            "{address}: {}",
            page.body
        );
        assert!(
            [200, 303].contains(&browser.get(&address).await.status),
            "{address}"
        );
    }
}

#[tokio::test]
async fn former_member_is_marked_and_linked_to_keys_and_events() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let grace = installation.member(&ada.organization, "grace", Role::Member);
    installation.issue(&grace.as_holder(), "Deploy").await;
    let now = installation.builder.clock.now();
    installation.store.end_membership(grace.membership.id, now);
    let browser = running.signed_in("ada").await;
    let settings = "/organizations/acme/settings";
    for address in [
        format!("{settings}/members/@grace"),
        format!("{settings}/members/{}", grace.membership.id),
    ] {
        let page = browser.get(&address).await;
        assert_eq!(page.status, 404);
        assert!(
            page.text().contains("grace is no longer a member"),
            "{}",
            page.body
        );
        assert!(
            page.shows("api-keys/all?status=no-access&#38;search=grace"),
            "{}",
            page.body
        );
        assert!(page.shows("audit-log?who=grace"));
    }
    assert!(
        !browser
            .get(&format!("{settings}/members/@nobody"))
            .await
            .shows("no longer a member")
    );
}

#[tokio::test]
async fn old_membership_of_a_returned_member_is_shown_as_ended() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let former = installation.member(&ada.organization, "grace", Role::Member);
    let now = installation.builder.clock.now();
    installation.store.end_membership(former.membership.id, now);
    installation.builder.clock.advance(TimeDelta::seconds(1));
    let owner = running.signed_in("ada").await;
    let link = invitation(&owner, "Grace", "member").await;
    let grace = running.signed_in("grace").await;
    let token = grace.open(&link).await.field("token").to_owned();
    let fields = [("token", token.as_str()), ("as", "user"), ("username", "grace")];
    assert_eq!(grace.post("/join", &fields).await.status, 303);

    let members = "/organizations/acme/settings/members";
    let page = owner.get(&format!("{members}/{}", former.membership.id)).await;
    assert_eq!(page.status, 404);
    let text = page.text();
    assert!(text.contains("This membership of grace has ended") && text.contains("current membership"));
    assert!(!text.contains("no longer a member"), "{text}");
    let current = owner.get(&format!("{members}/@grace")).await;
    assert!(page.shows(&format!("href=\"{}\"", current.location())));
}

#[tokio::test]
async fn actor_who_is_also_the_subject_is_named_once() {
    let (running, ada) = Running::with_ada().await;
    let installation = &running.installation;
    let grace = installation.member(&ada.organization, "grace", Role::Member);
    let (user, membership) = (
        Subject::User(grace.user.id),
        Subject::Membership(grace.membership.id),
    );
    let invitation = Subject::Invitation(installation.builder.ids.next());
    for (action, subject, object) in [
        (Action::CreateUser, user, None),
        (Action::CreateMembership, membership, None),
        (Action::AcceptInvitation, invitation, Some(membership)),
    ] {
        record(installation, &ada, as_owner(&grace), action, subject, object).await;
    }
    record(
        installation,
        &ada,
        as_owner(&ada),
        Action::CreateMembership,
        membership,
        None,
    )
    .await;
    let text = events(&running.signed_in("ada").await.get(LOG).await);
    for sentence in [
        "grace created their account",
        "grace joined the organization",
        "grace accepted their invitation",
        "ada added grace",
    ] {
        assert!(text.contains(sentence), "{sentence}: {text}");
    }
}
