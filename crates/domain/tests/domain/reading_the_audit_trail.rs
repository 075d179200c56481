//! The audit events that an organization's owners see.

use std::collections::HashMap;

use keyward_domain::administration::ports::Named;
use keyward_domain::administration::{AuditPage, Authority};
use keyward_domain::api_key::KeyPrecondition;
use keyward_domain::audit::{Action, Actor, AuditEvent, RequestSource, Subject};
use keyward_domain::id::{ApiKeyId, InvitationId};
use keyward_domain::invitation::{Invitation, InvitationToken, Invitee};
use keyward_domain::membership::{Member, Role};
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::{AuditFilter, AuditLog, DescendantKeys, KeyLimit, KeyLimits, StorageError};
use keyward_domain::project::{Project, ProjectName};
use keyward_domain::rate::Rate;
use keyward_domain::testing::TestInstallation;

#[tokio::test]
async fn events_include_the_names_of_all_participants() {
    let (installation, ada) = installation_with_ada();
    let deploy = installation.issue(&ada.as_holder(), "Deploy").await;
    let child = installation.caller(&deploy).await.as_holder();
    let nightly = installation.issue(&child, "Nightly").await;

    let page = PageRequest::first(PageSize::DEFAULT);
    let trail = installation.audit_trail();
    let found = trail.list(&authority(&ada), AuditFilter::default(), page).await;
    let found = found.expect("a page");
    let what: Vec<_> = found
        .events
        .items
        .iter()
        .map(|event| (event.actor, event.subject))
        .collect();
    assert_eq!(
        what,
        [
            (Actor::ApiKey(deploy.key.id), Subject::ApiKey(nightly.key.id)),
            (Actor::User(ada.user.id), Subject::ApiKey(deploy.key.id)),
        ]
    );
    let named = [
        (Subject::ApiKey(nightly.key.id), "Nightly".to_owned()),
        (Subject::ApiKey(deploy.key.id), "Deploy".to_owned()),
        (Subject::User(ada.user.id), "ada".to_owned()),
    ];
    assert_eq!(names_in(found), named.into());
}

#[tokio::test]
async fn filtered_participant_is_named_even_without_matching_events() {
    let (installation, ada) = installation_with_ada();
    let grace = installation.member(&ada.organization, "grace", Role::Member);
    let filter = AuditFilter {
        actor: Some(Actor::User(grace.user.id)),
        subject: Some(Subject::Membership(ada.membership.id)),
        ..AuditFilter::default()
    };
    let page = PageRequest::first(PageSize::DEFAULT);
    let found = installation
        .audit_trail()
        .list(&authority(&ada), filter, page)
        .await;
    let found = found.expect("a page");

    assert_eq!(found.events.items, []);
    let named = [
        (Subject::User(grace.user.id), "grace".to_owned()),
        (Subject::Membership(ada.membership.id), "ada".to_owned()),
    ];
    assert_eq!(names_in(found), named.into());
}

#[tokio::test]
async fn export_contains_each_matching_event_once() {
    let (installation, ada) = installation_with_ada();
    let other = installation.organization("Other");
    let stranger = installation.member(&other, "grace", Role::Owner);
    installation.issue(&stranger.as_holder(), "Elsewhere").await;
    let mut keys = Vec::new();
    for number in 0..1_100 {
        let issued = installation
            .issue(&ada.as_holder(), &format!("Key {number}"))
            .await;
        keys.push(Subject::ApiKey(issued.key.id));
        revoke(&installation, &ada, &issued.key).await;
    }
    keys.reverse();

    let filter = AuditFilter {
        action: Some(Action::CreateApiKey),
        ..AuditFilter::default()
    };
    let mut export = installation
        .audit_trail()
        .export(&authority(&ada), filter, RequestSource::default());
    let mut exported = Vec::new();
    while let Some(page) = export.next().await.expect("the store answers") {
        assert!(page.events.items.len() <= PageSize::EXPORT.items());
        exported.extend(page.events.items.into_iter().map(|event| event.subject));
    }
    assert_eq!(exported, keys);
    assert!(export.next().await.expect("the store answers").is_none());
}

#[tokio::test]
async fn failed_export_resumes_at_its_position() {
    let (installation, ada) = installation_with_ada();
    for number in 0..600 {
        let issued = installation
            .issue(&ada.as_holder(), &format!("Key {number}"))
            .await;
        revoke(&installation, &ada, &issued.key).await;
    }
    let mut export =
        installation
            .audit_trail()
            .export(&authority(&ada), AuditFilter::default(), RequestSource::default());
    let mut count = export
        .next()
        .await
        .expect("a page")
        .expect("events")
        .events
        .items
        .len();
    installation.store.go_down();
    assert!(export.next().await.is_err());
    installation.store.come_back();
    while let Some(page) = export.next().await.expect("the store answers") {
        count += page.events.items.len();
    }
    assert_eq!(count, 1_200);
}

#[tokio::test]
async fn server_operator_reads_events_of_no_organization() {
    let (installation, ada) = installation_with_ada();
    installation.issue(&ada.as_holder(), "Deploy").await;
    let grace = installation.member(&installation.organization("Other"), "grace", Role::Member);
    let session = installation.builder.ids.next();
    let (user, tried) = (Actor::User(ada.user.id), Subject::User(grace.user.id));
    let signed_in = installation
        .builder
        .act(user)
        .event(Action::SignIn, Subject::Session(session));
    let refused = installation
        .builder
        .act(Actor::Anonymous)
        .refusal(Action::SignIn, tried);
    for event in [&signed_in, &refused] {
        installation.store.record(event.clone()).await.expect("recorded");
    }

    let mut export = installation
        .audit_trail()
        .export_of_installation(AuditFilter::default());
    let page = export.next().await.expect("an answer").expect("a page");
    assert_eq!(page.events.items, [refused, signed_in]);
    let users = [(Subject::User(ada.user.id), ada.user), (tried, grace.user)];
    let names = users.map(|(subject, user)| {
        let named = Named {
            name: user.display_name.to_string(),
            username: Some(user.username),
            hint: None,
        };
        (subject, named)
    });
    assert_eq!(page.names, names.into());
    assert!(export.next().await.expect("an answer").is_none());
}

#[tokio::test]
async fn owners_filter_actors_by_username_or_identifier() {
    let (installation, ada) = installation_with_ada();
    let other = installation.organization("Other");
    let stranger = installation.member(&other, "grace", Role::Owner);
    let theirs = installation.issue(&stranger.as_holder(), "Theirs").await;
    let key = installation.issue(&ada.as_holder(), "Deploy").await;
    let trail = installation.audit_trail();
    for (typed, expected) in [
        ("ada".to_owned(), Some(Actor::User(ada.user.id))),
        (ada.user.id.to_string(), Some(Actor::User(ada.user.id))),
        (key.key.id.to_string(), Some(Actor::ApiKey(key.key.id))),
        (ada.membership.id.to_string(), None),
        ("grace".to_owned(), None),
        (stranger.user.id.to_string(), None),
        (theirs.key.id.to_string(), None),
        ("nobody".to_owned(), None),
        ("Ada Lovelace".to_owned(), None),
        (String::new(), None),
    ] {
        let found = trail.find_actor(&authority(&ada), &typed).await;
        assert_eq!(found.expect("the store answers"), expected, "{typed}");
    }
}

#[tokio::test]
async fn owners_filter_subjects_by_identifier() {
    let (installation, ada) = installation_with_ada();
    let key = installation.issue(&ada.as_holder(), "Deploy").await.key.id;
    let project = project(&installation, &ada);
    let invitation = invitation(&installation, &ada);
    let trail = installation.audit_trail();
    for (typed, expected) in [
        (key.to_string(), Some(Subject::ApiKey(key))),
        (ada.user.id.to_string(), Some(Subject::User(ada.user.id))),
        (
            ada.membership.id.to_string(),
            Some(Subject::Membership(ada.membership.id)),
        ),
        (
            ada.organization.id.to_string(),
            Some(Subject::Organization(ada.organization.id)),
        ),
        (project.to_string(), Some(Subject::Project(project))),
        (invitation.to_string(), Some(Subject::Invitation(invitation))),
        ("ada".to_owned(), None),
        ("00000000-0000-7000-8000-000000000000".to_owned(), None),
    ] {
        let found = trail.find_subject(&authority(&ada), &typed).await;
        assert_eq!(found.expect("the store answers"), expected, "{typed}");
    }
    let other = installation.organization("Other");
    let stranger = installation.member(&other, "grace", Role::Owner);
    for typed in [key.to_string(), project.to_string(), invitation.to_string()] {
        let found = trail.find_subject(&authority(&stranger), &typed).await;
        assert_eq!(found.expect("the store answers"), None, "{typed}");
    }
}

#[tokio::test]
async fn owners_filter_removed_subjects_by_their_logged_identifier() {
    let (installation, ada) = installation_with_ada();
    let other = installation.organization("Other");
    let stranger = installation.member(&other, "grace", Role::Owner);
    let [subject, object, actor]: [ApiKeyId; 3] = [(); 3].map(|()| installation.builder.ids.next());
    let invitation: InvitationId = installation.builder.ids.next();
    for (actor, subject, object) in [
        (Actor::Administrator, Subject::ApiKey(subject), None),
        (
            Actor::Administrator,
            Subject::Membership(ada.membership.id),
            Some(Subject::ApiKey(object)),
        ),
        (Actor::ApiKey(actor), Subject::Membership(ada.membership.id), None),
        (Actor::Administrator, Subject::Invitation(invitation), None),
    ] {
        let act = installation.builder.act(Actor::Administrator);
        let event = AuditEvent {
            actor,
            object,
            organization_id: Some(ada.organization.id),
            ..act.event(Action::RevokeApiKey, subject)
        };
        installation.store.record(event).await.expect("recorded");
    }
    let trail = installation.audit_trail();
    let (ours, theirs) = (authority(&ada), authority(&stranger));
    for key in [subject, object, actor] {
        let typed = key.to_string();
        let found = trail.find_subject(&ours, &typed).await.expect("an answer");
        assert_eq!(found, Some(Subject::ApiKey(key)));
        let found = trail.find_actor(&ours, &typed).await.expect("an answer");
        assert_eq!(found, Some(Actor::ApiKey(key)));
    }
    let found = trail.find_subject(&ours, &invitation.to_string()).await;
    assert_eq!(found.expect("an answer"), Some(Subject::Invitation(invitation)));
    for id in [
        subject.as_uuid(),
        object.as_uuid(),
        actor.as_uuid(),
        invitation.as_uuid(),
    ] {
        let typed = id.to_string();
        assert_eq!(
            trail.find_subject(&theirs, &typed).await.expect("an answer"),
            None
        );
        assert_eq!(trail.find_actor(&theirs, &typed).await.expect("an answer"), None);
    }
}

fn installation_with_ada() -> (TestInstallation, Member) {
    let mut installation = TestInstallation::new();
    installation.limits = KeyLimits {
        valid: KeyLimit(1_000),
        changes: Rate::per_minute(60, 2_000),
    };
    let organization = installation.organization("Analytical Engines");
    let ada = installation.member(&organization, "ada", Role::Owner);
    (installation, ada)
}

fn names_in(page: AuditPage) -> HashMap<Subject, String> {
    let names = page.names.into_iter();
    names.map(|(subject, named)| (subject, named.name)).collect()
}

fn authority(owner: &Member) -> Authority {
    owner.as_authority(owner.membership.joined_at).expect("an owner")
}

async fn revoke(installation: &TestInstallation, ada: &Member, key: &keyward_domain::api_key::ApiKey) {
    let (holder, source) = (ada.as_holder(), RequestSource::default());
    let keys = installation.keys();
    let revoked = keys
        .revoke(
            &holder,
            key.id,
            DescendantKeys::Keep,
            KeyPrecondition::AnyVersion,
            source,
        )
        .await;
    revoked.expect("revoked");
}

fn project(installation: &TestInstallation, owner: &Member) -> keyward_domain::id::ProjectId {
    let id = installation.builder.ids.next();
    installation.store.put_project(Project {
        id,
        organization_id: owner.organization.id,
        name: ProjectName::parse("Telescope").expect("a name"),
        created_at: owner.membership.joined_at,
        archived_at: None,
    });
    id
}

fn invitation(installation: &TestInstallation, owner: &Member) -> InvitationId {
    let id = installation.builder.ids.next();
    let invitation = Invitation {
        id,
        organization_id: owner.organization.id,
        invitee: Invitee::parse("Grace").expect("a name"),
        role: Role::Member,
        invited_by: Actor::User(owner.user.id),
        created_at: owner.membership.joined_at,
        expires_at: owner.membership.joined_at + Invitation::LIFETIME,
        end: None,
    };
    let digest = InvitationToken::generate(&*installation.builder.random).digest();
    installation.store.put_invitation(invitation, digest);
    id
}

#[tokio::test]
async fn export_is_logged_once_and_excludes_its_own_event() {
    let (installation, ada) = installation_with_ada();
    for number in 0..1_100 {
        let name = format!("Key {number}");
        let key = installation.issue(&ada.as_holder(), &name).await.key;
        revoke(&installation, &ada, &key).await;
    }
    let before = installation.store.events();
    let source = RequestSource {
        address: Some([203, 0, 113, 9].into()),
        request_id: Some("request-17".to_owned()),
    };
    let trail = installation.audit_trail();
    let mut export = trail.export(&authority(&ada), AuditFilter::default(), source.clone());
    let mut exported = Vec::new();
    while let Some(page) = export.next().await.expect("the store answers") {
        exported.extend(page.events.items);
    }
    exported.reverse();
    assert_eq!(exported, before);

    let events = installation.store.events();
    let [recorded] = &events[before.len()..] else {
        panic!("one event: {:?}", &events[before.len()..])
    };
    let organization = ada.organization.id;
    assert_eq!(recorded.action, Action::ExportAuditLog);
    assert_eq!(recorded.actor, Actor::User(ada.user.id));
    assert_eq!(recorded.subject, Subject::Organization(organization));
    assert_eq!(
        (recorded.organization_id, &recorded.source),
        (Some(organization), &source)
    );
}

#[tokio::test]
async fn installation_export_is_recorded_in_the_installation_log() {
    let (installation, _) = installation_with_ada();
    let mut export = installation
        .audit_trail()
        .export_of_installation(AuditFilter::default());
    export.next().await.expect("the store answers");
    let events = installation.store.events();
    let recorded = events.last().expect("an event");
    assert_eq!(
        (
            recorded.organization_id,
            recorded.actor,
            recorded.action,
            recorded.subject
        ),
        (
            None,
            Actor::Administrator,
            Action::ExportAuditLog,
            Subject::Installation
        )
    );
}

#[tokio::test]
async fn export_does_not_start_when_its_event_cannot_be_written() {
    let (installation, ada) = installation_with_ada();
    installation.issue(&ada.as_holder(), "Laptop").await;
    let trail = installation.audit_trail();
    let mut export = trail.export(&authority(&ada), AuditFilter::default(), RequestSource::default());
    installation
        .store
        .refuse_changes(|| StorageError::Unavailable("the disk is full".into()));
    export.next().await.expect_err("no room for the event");
    installation.store.allow_changes();
    let page = export.next().await.expect("the store answers").expect("events");
    assert_eq!(page.events.items.len(), 1);
    assert_eq!(installation.store.events().len(), 2);
}

#[tokio::test]
async fn viewing_a_page_writes_no_event() {
    let (installation, ada) = installation_with_ada();
    installation.issue(&ada.as_holder(), "Laptop").await;
    let request = PageRequest::first(PageSize::DEFAULT);
    let page = installation
        .audit_trail()
        .list(&authority(&ada), AuditFilter::default(), request)
        .await;
    assert_eq!(page.expect("a page").events.items.len(), 1);
    assert_eq!(installation.store.events().len(), 1);
}
