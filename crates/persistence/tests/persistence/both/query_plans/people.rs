//! Sessions, members, invitations and projects.

use std::sync::Arc;

use keyward_domain::administration::ports::{
    InvitationStore, MemberFilter, MemberStore, ProjectFilter, ProjectStatus, ProjectStore,
};
use keyward_domain::administration::{Invitations, Projects};
use keyward_domain::audit::{Actor, RequestSource};
use keyward_domain::id::ProjectId;
use keyward_domain::keys::IdempotencyKey;
use keyward_domain::ports::ReachableProjects;
use keyward_domain::project::ProjectName;
use keyward_domain::sign_in::ports::{OpenInvitations, SessionStore};
use keyward_domain::sign_in::session::SessionToken;
use uuid::Uuid;

use crate::both::scene::draft;
use crate::database::{Database, now};

use super::{Listening, page};

on_both!(people_and_project_queries_use_an_index);

async fn people_and_project_queries_use_an_index(database: Database) {
    let listening = Listening::to(database).await;
    let (scene, store) = (&listening.scene, listening.store());
    let organization = scene.ada.organization.id;

    let session = SessionToken::parse(&scene.there_token).expect("a token").digest();
    SessionStore::find(store, &session).await.expect("an answer");
    let digest = ("sessions_digest_key", "sqlite_autoindex_sessions_2");
    listening.expect("a session", &[digest.0], &[digest.1]).await;
    let act = scene.make.act(Actor::User(scene.ada.user.id));
    let ended = SessionStore::end_others(store, scene.ada.user.id, scene.here.session.id, act).await;
    ended.expect("an end");
    listening
        .expect(
            "other sessions",
            &["sessions_user_id_idx"],
            &["sessions_user_id_idx"],
        )
        .await;

    let (all, last) = (MemberFilter::new(None), Some(scene.bob.membership.id));
    MemberStore::list(store, organization, all, page(last), now())
        .await
        .expect("a page");
    let index = "memberships_organization_id_id_idx";
    listening.expect("members", &[index], &[index]).await;
    MemberStore::list(
        store,
        organization,
        MemberFilter::named("Nobody"),
        page(None),
        now(),
    )
    .await
    .expect("a page");
    listening.expect("members of a name", &[index], &[index]).await;

    OpenInvitations::find(store, &scene.invitation.token.digest(), None, now())
        .await
        .expect("an answer");
    let digest = ("invitations_digest_key", "sqlite_autoindex_invitations_2");
    listening.expect("an invitation", &[digest.0], &[digest.1]).await;
    InvitationStore::pending(store, organization, page(None))
        .await
        .expect("a page");
    listening
        .expect(
            "invitations",
            &["invitations_pending_idx"],
            &["invitations_pending_idx"],
        )
        .await;

    let invitations = Invitations::new(
        Arc::clone(&listening.asked.store) as _,
        Arc::clone(&listening.asked.store) as _,
        scene.make.sources.clone(),
    );
    let idempotency_key = Some(IdempotencyKey::generate(&*scene.make.random));
    let invited = invitations
        .invite(
            &scene.authority(),
            draft(),
            idempotency_key,
            RequestSource::default(),
        )
        .await;
    invited.expect("an invitation");
    let indexes = ["invitations_idempotency_key_key", "memberships_organization_idx"];
    listening.expect("a new invitation", &indexes, &indexes).await;
    let projects = Projects::new(
        Arc::clone(&listening.asked.store) as _,
        Arc::clone(&listening.asked.store) as _,
        scene.make.sources.clone(),
    );
    let name = ProjectName::parse("twice").expect("a name");
    projects
        .create(
            &scene.authority(),
            name,
            idempotency_key,
            RequestSource::default(),
        )
        .await
        .expect("a project");
    let index = "projects_idempotency_key_key";
    listening.expect("a new project", &[index], &[index]).await;

    let all = || ProjectFilter::new(ProjectStatus::All, None);
    let last = Some(ProjectId::from_uuid(Uuid::max()));
    ProjectStore::list(store, organization, all(), page(last), now())
        .await
        .expect("a page");
    let index = "projects_organization_id_id_idx";
    listening.expect("projects", &[index], &[index]).await;
    ProjectStore::list(
        store,
        organization,
        ProjectFilter::named("None"),
        page(None),
        now(),
    )
    .await
    .expect("a page");
    listening.expect("projects of a name", &[index], &[index]).await;
    ReachableProjects::list(store, scene.bob.membership.id, page(None), now())
        .await
        .expect("a page");
    listening
        .expect(
            "projects of a key",
            &["project_members_pkey"],
            &["USING PRIMARY KEY"],
        )
        .await;
    ReachableProjects::count(store, scene.bob.membership.id, now())
        .await
        .expect("a count");
    listening
        .expect(
            "how many projects a key reaches",
            &["project_members_pkey"],
            &["USING PRIMARY KEY"],
        )
        .await;
    ProjectStore::members(store, organization, scene.project.id, page(None), now())
        .await
        .expect("a page");
    let index = "project_members_project_id_idx";
    listening.expect("members of a project", &[index], &[index]).await;
}
