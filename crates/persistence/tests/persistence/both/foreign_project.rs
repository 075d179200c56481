//! A row that no port creates, but a manual change of the database can: a member in a project of another
//! organization.

use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::ReachableProjects;

use crate::both::scene::{Scene, add_project, member};
use crate::database::{Database, now};

on_both!(foreign_project_is_unreachable_despite_a_membership_row);

async fn foreign_project_is_unreachable_despite_a_membership_row(database: Database) {
    let scene = Scene::new(database).await;
    let owner = member(&scene.database, "ada", &scene.elsewhere).await;
    let authority = owner.as_authority(owner.membership.joined_at).expect("an owner");
    let foreign = add_project(&scene.use_cases, &authority, "Secrets").await;
    let (bob, own) = (scene.bob.membership.id, scene.project.id);
    let [of_bob, of_foreign, of_own] =
        [bob.as_uuid(), foreign.id.as_uuid(), own.as_uuid()].map(|id| scene.database.id(id));
    let planted = format!(
        "INSERT INTO project_members (membership_id, project_id, added_at)
         SELECT {of_bob}, {of_foreign}, added_at FROM project_members WHERE project_id = {of_own}"
    );
    scene.database.execute(&planted).await;

    let reachable: &dyn ReachableProjects = &*scene.database.store;
    let all = PageRequest {
        size: PageSize::DEFAULT,
        after: None,
    };
    let reached = reachable.list(bob, all, now()).await.expect("an answer");
    let reached: Vec<_> = reached.items.iter().map(|project| project.id).collect();
    assert_eq!(reached, [own]);
    assert_eq!(
        reachable.find(bob, foreign.id, now()).await.expect("an answer"),
        None
    );
}
