//! An import restores what was exported.

use crate::database::Database;
use crate::transfer::everything::{EVENTS, everything, export_of, finished, installation};

#[tokio::test]
async fn round_trip_between_databases_is_byte_identical() {
    let everything = everything().await;
    let mut export = everything.clone();
    for database in [
        Database::sqlite().await,
        Database::postgres().await,
        Database::sqlite().await,
        Database::postgres().await,
    ] {
        let imported = database.import(export).await.expect("an import");
        assert_eq!((imported.users, imported.audit_events), (2, EVENTS.into()));
        export = database.export().await;
        assert!(export == everything, "{export}");
    }
}

#[tokio::test]
async fn installation_before_setup_can_be_transferred() {
    let empty = Database::sqlite().await.export().await;
    for database in Database::both().await {
        assert_eq!(database.export().await, empty);
        database.import(empty.clone()).await.expect("an import");
        assert_eq!(database.export().await, empty);
    }
}

#[tokio::test]
async fn setup_link_is_transferred() {
    let values = format!(
        r#"null,"setup_link_digest":"{}","setup_link_expires_at":"2026-01-01T00:00:00Z""#,
        "5a".repeat(32)
    );
    let export = export_of(&[installation(&values)]).await;
    for database in Database::both().await {
        database.import(export.clone()).await.expect("an import");
        assert_eq!(database.export().await, export);
    }
}

#[tokio::test]
async fn postgresql_microseconds_survive_export_and_import() {
    let export = everything()
        .await
        .replace("2026-01-01T00:00:00.789Z", "2026-01-01T00:00:00.789012Z");
    let (lines, _) = export.split_once("{\"end\"").expect("a last line");
    let export = finished(lines.to_owned());
    for _ in 0..2 {
        let database = Database::postgres().await;
        database.import(export.clone()).await.expect("an import");
        assert!(database.export().await == export);
    }
}
