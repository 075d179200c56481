use chrono::{DateTime, TimeDelta, Utc};

use super::{AccessRemoval, AccessRemovals, ManualRemoval, RemovalsToRepeat};
use crate::audit::{Act, Action, Actor, AuditEvent, Subject};
use crate::clock::Clock;
use crate::id::{MembershipId, ProjectId, UserId};
use crate::ports::AuditLog;
use crate::testing::{Builder, MemoryStore, TestInstallation};

const HOUR: TimeDelta = TimeDelta::hours(1);

/// An administrator's log, in which each event is an hour after the one before it.
#[derive(Clone)]
struct Log {
    make: Builder,
    events: Vec<AuditEvent>,
}

impl Log {
    fn new() -> Self {
        Self {
            make: Builder::new(1),
            events: Vec::new(),
        }
    }

    fn add(&mut self, event: impl FnOnce(Act) -> AuditEvent) {
        self.make.clock.advance(HOUR);
        self.events.push(event(self.make.act(Actor::Administrator)));
    }

    fn record(&mut self, action: Action, subject: Subject) {
        self.add(|act| act.event(action, subject));
    }

    fn now(&self) -> DateTime<Utc> {
        self.make.clock.now()
    }

    /// The same, whichever end of the log is read first.
    #[track_caller]
    fn to_repeat(&self) -> RemovalsToRepeat {
        self.to_repeat_at(self.now())
    }

    #[track_caller]
    fn to_repeat_at(&self, now: DateTime<Utc>) -> RemovalsToRepeat {
        let oldest_first = read(self.events.iter()).to_repeat(now);
        assert_eq!(oldest_first, read(self.events.iter().rev()).to_repeat(now));
        oldest_first
    }

    #[track_caller]
    fn removals(&self) -> Vec<AccessRemoval> {
        let to_repeat = self.to_repeat();
        assert_eq!(to_repeat.manual, []);
        to_repeat
            .removals
            .into_iter()
            .map(|(_, removal)| removal)
            .collect()
    }

    #[track_caller]
    fn manual(&self) -> Vec<ManualRemoval> {
        let to_repeat = self.to_repeat();
        assert_eq!(to_repeat.removals, []);
        to_repeat.manual.into_iter().map(|(_, removal)| removal).collect()
    }
}

fn read<'a>(events: impl Iterator<Item = &'a AuditEvent>) -> AccessRemovals {
    let mut removals = AccessRemovals::default();
    events.for_each(|event| removals.add(event));
    removals
}

fn by_server(act: Act) -> Act {
    Act {
        actor: Actor::System,
        ..act
    }
}

#[test]
fn ended_keys_memberships_and_invitations_are_repeated_in_order() {
    let mut log = Log::new();
    let [revoked, expired] = [log.make.ids.next(), log.make.ids.next()];
    let members: [MembershipId; 3] = std::array::from_fn(|_| log.make.ids.next());
    let [withdrawn, accepted] = [log.make.ids.next(), log.make.ids.next()];
    log.record(Action::RevokeApiKey, Subject::ApiKey(revoked));
    log.record(Action::ExpireApiKey, Subject::ApiKey(expired));
    log.record(Action::RemoveMember, Subject::Membership(members[0]));
    log.record(Action::LeaveOrganization, Subject::Membership(members[1]));
    log.record(Action::ExpireMembership, Subject::Membership(members[2]));
    log.record(Action::RevokeInvitation, Subject::Invitation(withdrawn));
    log.record(Action::AcceptInvitation, Subject::Invitation(accepted));
    assert_eq!(
        log.removals(),
        [
            AccessRemoval::ApiKey(revoked),
            AccessRemoval::ApiKey(expired),
            AccessRemoval::Membership(members[0]),
            AccessRemoval::Membership(members[1]),
            AccessRemoval::Membership(members[2]),
            AccessRemoval::Invitation(withdrawn),
            AccessRemoval::Invitation(accepted),
        ]
    );
}

#[test]
fn refused_attempts_and_other_events_leave_nothing_to_repeat() {
    let mut log = Log::new();
    let (key, user) = (log.make.ids.next(), log.make.ids.next());
    log.add(|act| act.refusal(Action::ChangePassword, Subject::User(user)));
    log.add(|act| act.refusal(Action::RevokeApiKey, Subject::ApiKey(key)));
    log.add(|act| act.refusal(Action::from_word("key_set.rotate").unwrap(), Subject::ApiKey(key)));
    log.record(Action::CreateApiKey, Subject::ApiKey(key));
    assert_eq!(log.to_repeat(), RemovalsToRepeat::default());
}

#[test]
fn successful_events_of_a_newer_version_are_counted() {
    let mut log = Log::new();
    let (key, user, organization) = (log.make.ids.next(), log.make.ids.next(), log.make.ids.next());
    log.record(Action::from_word("key_set.rotate").unwrap(), Subject::ApiKey(key));
    log.record(Action::RevokeApiKey, Subject::User(user));
    for (action, subject) in [
        (Action::ChangeExpiry, Subject::ApiKey(key)),
        (Action::LimitKeyLife, Subject::Organization(organization)),
        (Action::RotateApiKey, Subject::ApiKey(key)),
    ] {
        log.add(|act| AuditEvent {
            new_value: Some("P1Y".to_owned()),
            ..act.event(action, subject)
        });
    }
    let to_repeat = RemovalsToRepeat {
        newer_events: 5,
        ..RemovalsToRepeat::default()
    };
    assert_eq!(log.to_repeat(), to_repeat);
}

#[test]
fn role_project_and_its_members_follow_their_latest_event() {
    let mut log = Log::new();
    let member: MembershipId = log.make.ids.next();
    let project: ProjectId = log.make.ids.next();
    let changes = [
        (Action::MakeMember, Action::MakeOwner),
        (Action::ArchiveProject, Action::RestoreProject),
        (Action::RemoveProjectMember, Action::AddProjectMember),
    ];
    let event_of = |action| {
        move |act: Act| match action {
            Action::ArchiveProject | Action::RestoreProject => act.event(action, Subject::Project(project)),
            _ => act.event_with(action, Subject::Membership(member), Subject::Project(project)),
        }
    };
    for (taken, _) in changes {
        log.add(event_of(taken));
    }
    let taken = [
        AccessRemoval::OwnerRole(member),
        AccessRemoval::Project(project),
        AccessRemoval::ProjectMember(project, member),
    ];
    assert_eq!(log.removals(), taken);
    for (_, given) in changes {
        log.add(event_of(given));
    }
    assert_eq!(log.removals(), []);
    for (taken, _) in changes {
        log.add(event_of(taken));
    }
    assert_eq!(log.removals(), taken);
}

#[test]
fn ended_membership_includes_role_projects_and_planned_end() {
    let mut log = Log::new();
    let member = log.make.ids.next();
    let project = Subject::Project(log.make.ids.next());
    let later = log.now() + TimeDelta::days(30);
    log.record(Action::MakeMember, Subject::Membership(member));
    log.add(|act| act.event_with(Action::RemoveProjectMember, Subject::Membership(member), project));
    log.add(|act| act.change_of_membership_expiry(member, None, Some(later)));
    log.record(Action::RemoveMember, Subject::Membership(member));
    assert_eq!(log.removals(), [AccessRemoval::Membership(member)]);
}

#[test]
fn planned_end_is_left_to_people_unless_recorded() {
    let mut log = Log::new();
    let (key, membership) = (log.make.ids.next(), log.make.ids.next());
    let at = log.now() + HOUR * 4;
    log.add(|act| act.event_of_moment(Action::ChangeExpiry, Subject::ApiKey(key), None, Some(at)));
    log.add(|act| act.change_of_membership_expiry(membership, None, Some(at)));
    let planned = [
        ManualRemoval::KeyEnd(key, at),
        ManualRemoval::MembershipEnd(membership, at),
    ];
    assert_eq!(log.manual(), planned);
    log.make.clock.advance(TimeDelta::days(1));
    log.add(|act| by_server(act).event(Action::SignIn, Subject::Installation));
    assert_eq!(log.manual(), planned);
    let planned_again = log.clone();
    log.add(|act| act.event_of_moment(Action::ChangeExpiry, Subject::ApiKey(key), Some(at), None));
    log.add(|act| act.change_of_membership_expiry(membership, Some(at), None));
    assert_eq!(log.to_repeat(), RemovalsToRepeat::default());
    log = planned_again;
    log.record(Action::ExpireApiKey, Subject::ApiKey(key));
    log.record(Action::ExpireMembership, Subject::Membership(membership));
    assert_eq!(
        log.removals(),
        [AccessRemoval::ApiKey(key), AccessRemoval::Membership(membership)]
    );
}

#[test]
fn latest_rotation_is_left_to_people_unless_the_key_ended() {
    let mut log = Log::new();
    let rotated = log.make.ids.next();
    for successor in [log.make.ids.next(), log.make.ids.next()] {
        let (old, new) = (Subject::ApiKey(rotated), Subject::ApiKey(successor));
        log.add(|act| act.event_with(Action::RotateApiKey, old, new));
        let key = rotated;
        assert_eq!(log.manual(), [ManualRemoval::Rotation { key, successor }]);
    }
    log.record(Action::RevokeApiKey, Subject::ApiKey(rotated));
    assert_eq!(log.removals(), [AccessRemoval::ApiKey(rotated)]);
}

#[test]
fn ended_sessions_are_named_by_user_until_they_expire() {
    let mut log = Log::new();
    let [ada, bob]: [UserId; 2] = std::array::from_fn(|_| log.make.ids.next());
    let session = Subject::Session(log.make.ids.next());
    let by_ada = |act| Act {
        actor: Actor::User(ada),
        ..act
    };
    log.add(|act| by_ada(act).event(Action::EndSession, session));
    log.add(|act| by_ada(act).event(Action::SignOut, session));
    log.add(|act| by_ada(act).event_with(Action::SignOut, session, Subject::User(bob)));
    assert_eq!(
        log.manual(),
        [ManualRemoval::Sessions(ada), ManualRemoval::Sessions(bob)]
    );
    log.add(|act| act.event(Action::ResetPassword, Subject::User(ada)));
    assert_eq!(
        log.manual(),
        [ManualRemoval::Sessions(bob), ManualRemoval::Password(ada)]
    );
    let named = log.manual();
    let recorded = log.now();
    log.make.clock.advance(TimeDelta::days(14));
    log.record(Action::ExportAuditLog, Subject::Installation);
    assert_eq!(log.manual(), named, "that may be the clock of this machine");
    log.add(|act| by_server(act).event(Action::SignIn, Subject::Installation));
    assert_eq!(log.manual(), [ManualRemoval::Password(ada)]);
    assert_eq!(log.to_repeat_at(recorded).manual.len(), 2, "by one clock");
}

#[test]
fn change_has_the_organization_of_its_event() {
    let mut log = Log::new();
    let (organization, key, user) = (log.make.ids.next(), log.make.ids.next(), log.make.ids.next());
    log.add(|act| {
        act.within(organization)
            .event(Action::RevokeApiKey, Subject::ApiKey(key))
    });
    log.record(Action::ResetPassword, Subject::User(user));
    assert_eq!(
        log.to_repeat(),
        RemovalsToRepeat {
            removals: vec![(Some(organization), AccessRemoval::ApiKey(key))],
            manual: vec![(None, ManualRemoval::Password(user))],
            newer_events: 0,
        }
    );
}

/// A store with the events of a log, which has others, too.
struct Stored {
    store: MemoryStore,
    log: Log,
}

impl Stored {
    async fn with(actions: &[Action]) -> Self {
        let (store, log) = (TestInstallation::new().store, Log::new());
        let mut stored = Self { store, log };
        for action in actions {
            stored.record(*action).await;
        }
        stored
    }

    async fn record(&mut self, action: Action) {
        let key = self.log.make.ids.next();
        self.log.record(action, Subject::ApiKey(key));
        let event = self.log.events.last().unwrap();
        self.store.record(event.clone()).await.unwrap();
    }

    async fn record_elsewhere(&mut self, action: Action) {
        self.record(action).await;
        self.log.events.pop();
    }

    /// All other events are of another log.
    async fn end_within(&self, of_log: Action) -> bool {
        let removals = read(self.log.events.iter());
        let is_of_log = |event: &AuditEvent| event.action == of_log;
        removals.end_within(&self.store, is_of_log).await.unwrap()
    }
}

#[tokio::test]
async fn log_ends_within_a_database_that_has_more_of_it() {
    let mut quiet = Stored::with(&[Action::RevokeApiKey, Action::SignIn]).await;
    assert!(!quiet.end_within(Action::SignIn).await);
    quiet.record_elsewhere(Action::SignIn).await;
    assert!(quiet.end_within(Action::SignIn).await);
    assert!(!quiet.end_within(Action::CreateApiKey).await);

    let lost = Subject::ApiKey(quiet.log.make.ids.next());
    quiet.log.record(Action::RevokeApiKey, lost);
    quiet.record(Action::SignIn).await;
    quiet.record_elsewhere(Action::SignIn).await;
    assert!(!quiet.end_within(Action::SignIn).await, "it continues elsewhere");

    let nothing = Stored::with(&[]).await;
    assert!(!nothing.end_within(Action::SignIn).await);
}

#[tokio::test]
async fn log_ends_within_the_database_that_exported_it() {
    let mut exported = Stored::with(&[Action::RevokeApiKey, Action::SignIn]).await;
    exported.record_elsewhere(Action::SignIn).await;
    exported.record_elsewhere(Action::ExportAuditLog).await;
    assert!(exported.end_within(Action::CreateApiKey).await);

    let followed = Stored::with(&[Action::RevokeApiKey, Action::ExportAuditLog]).await;
    assert!(followed.end_within(Action::CreateApiKey).await);
}

#[test]
fn settings_that_limit_new_keys_are_left_to_people() {
    let mut log = Log::new();
    let organization = log.make.ids.next();
    let setting = |action, longest: Option<&str>| {
        let longest = longest.map(str::to_owned);
        move |act: Act| AuditEvent {
            new_value: longest,
            ..act.event(action, Subject::Organization(organization))
        }
    };
    log.add(setting(Action::DisableKeyManagement, None));
    log.add(setting(Action::LimitKeyLife, Some("P90D")));
    assert_eq!(
        log.manual(),
        [
            ManualRemoval::KeyManagementOff(organization),
            ManualRemoval::KeyLife(organization, "P90D".parse().unwrap())
        ]
    );
    log.add(setting(Action::EnableKeyManagement, None));
    log.add(setting(Action::LimitKeyLife, None));
    assert_eq!(log.manual(), []);
}
