//! A user with more sessions than the limit.

use keyward_domain::id::SessionId;
use keyward_domain::sign_in::session::Session;

use crate::both::changes::Change;
use crate::both::scene::Scene;
use crate::database::Database;

on_both!(sign_in_ends_excess_sessions_within_its_time_budget);

async fn sign_in_ends_excess_sessions_within_its_time_budget(database: Database) {
    let scene = Scene::new(database).await;
    let database = &scene.database;
    let of_ada = format!(
        "sessions WHERE user_id = {}",
        database.id(scene.ada.user.id.as_uuid())
    );
    let before = database.count(&of_ada).await;
    let most = Session::MAX_PER_USER + Session::MAX_ENDED_AT_ONCE + 50;
    let rows: Vec<String> = (before..most)
        .map(|number| {
            let id = scene.make.ids.next::<SessionId>().as_uuid();
            format!("({}, {})", database.id(id), database.digest(number))
        })
        .collect();
    let copies = format!(
        "INSERT INTO sessions (id, user_id, digest, started_at, last_seen_at)
         SELECT new.column1, user_id, new.column2, started_at, last_seen_at
         FROM sessions, (VALUES {}) AS new WHERE sessions.id = {}",
        rows.join(", "),
        database.id(scene.here.session.id.as_uuid())
    );
    database.execute(&copies).await;

    for expected in [
        most + 1 - Session::MAX_ENDED_AT_ONCE,
        Session::MAX_PER_USER,
        Session::MAX_PER_USER,
    ] {
        scene.attempt(Change::SignIn).await.expect("signed in");
        assert_eq!(database.count(&of_ada).await, expected);
    }
    let recorded = "(SELECT DISTINCT subject_id FROM audit_events WHERE action = 'session.end') AS recorded";
    assert_eq!(database.count(recorded).await, most + 3 - Session::MAX_PER_USER);
}
