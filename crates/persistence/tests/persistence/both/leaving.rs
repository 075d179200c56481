//! The rows that remain of a membership that has ended.

use keyward_domain::audit::RequestSource;

use crate::both::changes::Change;
use crate::both::scene::Scene;
use crate::database::Database;

on_both!(former_member_has_no_project_rows);

async fn former_member_has_no_project_rows(database: Database) {
    let scene = Scene::new(database).await;
    let (projects, source) = (&scene.use_cases.projects, RequestSource::default());
    let adas = scene.ada.membership.id;
    let added = projects
        .add_member(&scene.authority(), scene.project.id, adas, source)
        .await;
    added.expect("a member of it");
    assert_eq!(scene.database.count("project_members").await, 2);

    scene.attempt(Change::RemoveMember).await.expect("removed");
    let left = "SELECT display_name AS text FROM project_members
        JOIN memberships ON memberships.id = membership_id JOIN users ON users.id = user_id";
    assert_eq!(scene.database.texts(left).await, ["Ada"]);
}
