//! How [`AuditLog`](crate::ports::AuditLog) is searched.

use chrono::{DateTime, TimeDelta, Utc};

use super::super::KeyStores;
use super::super::pages::{all_pages, size_of};
use super::super::scene::{Scene, ids_of};
use crate::audit::{Action, Actor, AuditEvent, Subject};
use crate::id::{AuditEventId, OrganizationId};
use crate::page::PageSize;
use crate::ports::AuditFilter;

pub(super) async fn actor_filter_finds_the_actors_events(stores: KeyStores) {
    let log = Log::new(stores).await;
    let key = Actor::ApiKey(log.scene.id());
    let bob = Actor::User(log.scene.id());
    let actors = [log.ada, bob, key, Actor::Administrator, Actor::Anonymous];
    let subject = Subject::Project(log.scene.id());
    let mut recorded = Vec::new();
    for actor in actors {
        recorded.push(log.record(actor, Action::CreateProject, subject, None).await);
    }

    for (actor, event) in actors.into_iter().zip(recorded) {
        let filter = AuditFilter {
            actor: Some(actor),
            ..AuditFilter::default()
        };
        assert_eq!(log.found(filter).await, [event.id], "{actor:?}");
    }
    let filter = AuditFilter {
        actor: Some(Actor::User(log.scene.id())),
        ..AuditFilter::default()
    };
    assert_eq!(log.found(filter).await, []);
}

pub(super) async fn action_filter_finds_events_of_that_action(stores: KeyStores) {
    let log = Log::new(stores).await;
    let mut recorded = Vec::new();
    for action in Action::ALL {
        let subject = Subject::Project(log.scene.id());
        recorded.push((*action, log.record(log.ada, *action, subject, None).await));
    }

    for (action, event) in recorded {
        let filter = AuditFilter {
            action: Some(action),
            ..AuditFilter::default()
        };
        assert_eq!(log.found(filter).await, [event.id], "{action:?}");
    }
}

pub(super) async fn subject_filter_finds_events_involving_the_subject(stores: KeyStores) {
    let log = Log::new(stores).await;
    let (scene, action) = (&log.scene, Action::AddProjectMember);
    let (grace, project) = (Subject::Membership(scene.id()), Subject::Project(scene.id()));
    let (other, elsewhere) = (Subject::Membership(scene.id()), Subject::Project(scene.id()));
    let first = log.record(log.ada, action, grace, Some(project)).await;
    let second = log.record(log.ada, action, other, Some(project)).await;
    let third = log.record(log.ada, action, grace, Some(elsewhere)).await;
    let fourth = log.record(log.ada, Action::RenameProject, project, None).await;
    // No use case writes such an event, but it must be listed once.
    let fifth = log.record(log.ada, action, project, Some(project)).await;
    let whole = log.record(log.ada, action, Subject::Installation, None).await;

    for (subject, expected) in [
        (grace, vec![&third, &first]),
        (other, vec![&second]),
        (project, vec![&fifth, &fourth, &second, &first]),
        (elsewhere, vec![&third]),
        (Subject::Installation, vec![&whole]),
        (Subject::Session(scene.id()), vec![]),
    ] {
        let filter = AuditFilter {
            subject: Some(subject),
            ..AuditFilter::default()
        };
        assert_eq!(log.found(filter).await, ids_of(expected), "{subject:?}");
    }
}

pub(super) async fn time_range_includes_its_start_and_excludes_its_end(stores: KeyStores) {
    let log = Log::new(stores).await;
    let mut recorded = Vec::new();
    for _ in 0..4 {
        log.scene.later(TimeDelta::milliseconds(1));
        recorded.push(log.project().await);
    }
    let at = |number: usize| recorded.get(number).map(|event| event.at);
    let span = |from: Option<usize>, until: Option<usize>| AuditFilter {
        from: from.and_then(at),
        until: until.and_then(at),
        ..AuditFilter::default()
    };

    for (from, until, expected) in [
        (Some(1), Some(3), 1..3),
        (Some(2), None, 2..4),
        (None, Some(1), 0..1),
        (Some(2), Some(2), 0..0),
        (Some(3), Some(1), 0..0),
    ] {
        let mut found = log.found(span(from, until)).await;
        found.reverse();
        let expected = recorded.get(expected).unwrap_or_default();
        assert_eq!(found, ids_of(expected), "{from:?} to {until:?}");
    }
}

pub(super) async fn time_range_filters_by_event_time_instead_of_identifier(stores: KeyStores) {
    let log = Log::new(stores).await;
    // Three servers write at once: one with the right time, one that is a day behind, one a day ahead.
    let now = log.scene.now();
    let mut recorded = Vec::new();
    for days in [0, -1, 1] {
        let event = AuditEvent {
            at: now + TimeDelta::days(days),
            ..log.event(
                log.ada,
                Action::CreateProject,
                Subject::Project(log.scene.id()),
                None,
            )
        };
        recorded.push(log.write(event).await);
    }
    let found = async |from: i64, until: i64| {
        let moment = |days| Some(now + TimeDelta::days(days));
        let filter = AuditFilter {
            from: moment(from),
            until: moment(until),
            ..AuditFilter::default()
        };
        log.found(filter).await
    };

    for (number, days) in [0, -1, 1].into_iter().enumerate() {
        let expected = recorded.get(number..=number).unwrap_or_default();
        assert_eq!(found(days, days + 1).await, ids_of(expected));
    }
    assert_eq!(found(-1, 2).await.len(), 3);
}

pub(super) async fn filters_are_combined(stores: KeyStores) {
    let log = Log::new(stores).await;
    let bob = Actor::User(log.scene.id());
    let (here, there) = (Subject::Project(log.scene.id()), Subject::Project(log.scene.id()));
    let mut recorded: Vec<AuditEvent> = Vec::new();
    for actor in [log.ada, bob] {
        for action in [Action::RenameProject, Action::ArchiveProject] {
            for subject in [here, there] {
                log.scene.later(TimeDelta::seconds(1));
                recorded.push(log.record(actor, action, subject, None).await);
                let member = Subject::Membership(log.scene.id());
                recorded.push(log.record(actor, action, member, Some(subject)).await);
            }
        }
    }
    // Two events were of each moment.
    let moments: Vec<DateTime<Utc>> = recorded.iter().step_by(2).map(|event| event.at).collect();
    recorded.reverse();
    for actor in [None, Some(log.ada), Some(bob)] {
        for action in [None, Some(Action::RenameProject)] {
            for subject in [None, Some(there)] {
                for (from, until) in [
                    (None, None),
                    (moments.get(1), None),
                    (moments.get(1), moments.get(6)),
                ] {
                    let filter = AuditFilter {
                        actor,
                        action,
                        subject,
                        from: from.copied(),
                        until: until.copied(),
                    };
                    let expected = ids_of(recorded.iter().filter(|event| filter.accepts(event)));
                    assert_eq!(log.found(filter.clone()).await, expected, "{filter:?}");
                }
            }
        }
    }
}

pub(super) async fn every_filter_continues_over_pages(stores: KeyStores) {
    let log = Log::new(stores).await;
    let project = Subject::Project(log.scene.id());
    let start = log.scene.now();
    let mut expected = Vec::new();
    for number in 0..7 {
        // Several of one moment, and others in between.
        if number % 3 == 0 {
            log.scene.later(TimeDelta::seconds(1));
        }
        let membership = Subject::Membership(log.scene.id());
        let (subject, object) = if number % 2 == 0 {
            (project, None)
        } else {
            (membership, Some(project))
        };
        expected.push(
            log.record(log.ada, Action::AddProjectMember, subject, object)
                .await,
        );
        log.record(Actor::Administrator, Action::CreateProject, membership, None)
            .await;
    }
    expected.reverse();
    let nothing_else = AuditFilter::default();
    for filter in [
        AuditFilter {
            actor: Some(log.ada),
            ..nothing_else.clone()
        },
        AuditFilter {
            action: Some(Action::AddProjectMember),
            ..nothing_else.clone()
        },
        AuditFilter {
            subject: Some(project),
            ..nothing_else.clone()
        },
        AuditFilter {
            actor: Some(log.ada),
            from: Some(start),
            until: Some(log.scene.now() + TimeDelta::seconds(1)),
            ..nothing_else
        },
    ] {
        for size in 1..=8 {
            let found = log.pages(Some(log.organization), filter.clone(), size).await;
            assert_eq!(ids_of(&found), ids_of(&expected), "pages of {size}: {filter:?}");
        }
    }
}

pub(super) async fn no_filter_finds_other_organizations_events(stores: KeyStores) {
    let log = Log::new(stores).await;
    let other = log.scene.add_organization("Difference Engines").await;
    let project = Subject::Project(log.scene.id());
    let membership = Subject::Membership(log.scene.id());
    let ours = log
        .record(log.ada, Action::AddProjectMember, membership, Some(project))
        .await;
    for organization_id in [Some(other.id), None] {
        let event = AuditEvent {
            id: log.scene.id(),
            organization_id,
            ..ours.clone()
        };
        log.write(event).await;
    }
    let nothing_else = AuditFilter::default();
    for filter in [
        nothing_else.clone(),
        AuditFilter {
            actor: Some(log.ada),
            ..nothing_else.clone()
        },
        AuditFilter {
            action: Some(Action::AddProjectMember),
            ..nothing_else.clone()
        },
        AuditFilter {
            subject: Some(membership),
            ..nothing_else.clone()
        },
        AuditFilter {
            subject: Some(project),
            ..nothing_else.clone()
        },
        AuditFilter {
            from: Some(ours.at),
            ..nothing_else
        },
    ] {
        for organization in [Some(log.organization), Some(other.id), None] {
            let found = log.pages(organization, filter.clone(), 50).await;
            let organizations: Vec<_> = found.iter().map(|event| event.organization_id).collect();
            assert_eq!(organizations, [organization], "{filter:?}");
        }
    }
}

/// The audit log of an organization in which nothing has happened yet.
struct Log {
    scene: Scene,
    organization: OrganizationId,
    ada: Actor,
}

impl Log {
    async fn new(stores: KeyStores) -> Self {
        let scene = Scene::new(stores);
        let organization = scene.add_organization("Analytical Engines").await.id;
        let ada = Actor::User(scene.id());
        Self {
            scene,
            organization,
            ada,
        }
    }

    fn event(&self, actor: Actor, action: Action, subject: Subject, object: Option<Subject>) -> AuditEvent {
        AuditEvent {
            object,
            ..self
                .scene
                .act_as(actor, Some(self.organization))
                .event(action, subject)
        }
    }

    async fn write(&self, event: AuditEvent) -> AuditEvent {
        let recorded = self.scene.stores.audit_log.record(event.clone()).await;
        recorded.expect("recorded");
        event
    }

    async fn record(
        &self,
        actor: Actor,
        action: Action,
        subject: Subject,
        object: Option<Subject>,
    ) -> AuditEvent {
        self.write(self.event(actor, action, subject, object)).await
    }

    async fn project(&self) -> AuditEvent {
        let project = Subject::Project(self.scene.id());
        self.record(self.ada, Action::CreateProject, project, None).await
    }

    async fn found(&self, filter: AuditFilter) -> Vec<AuditEventId> {
        ids_of(&self.pages(Some(self.organization), filter, PageSize::MAX).await)
    }

    async fn pages(
        &self,
        organization: Option<OrganizationId>,
        filter: AuditFilter,
        size: u16,
    ) -> Vec<AuditEvent> {
        let log = &self.scene.stores.audit_log;
        all_pages(size_of(size), |page| log.list(organization, filter.clone(), page)).await
    }
}
