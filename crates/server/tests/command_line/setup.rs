//! An organization to work with.

use keyward_test_database::TestDatabase;

use crate::keyward::{Answer, Keyward};

/// The first owner's.
pub(crate) const PASSWORD: &str = "quiet otters read maps";

/// Creates the organization `acme-sons` with its owner `ada`.
pub(crate) fn bootstrap(database_url: &str) -> Answer {
    let arguments = [
        "admin",
        "bootstrap",
        "--organization=Acme & Sons",
        "--username=ada",
        "--password-stdin",
    ];
    Keyward::new(&arguments)
        .database(database_url)
        .input(PASSWORD)
        .run()
}

/// A database that is set up.
pub(crate) async fn set_up() -> TestDatabase {
    let database = TestDatabase::empty().await.unwrap();
    bootstrap(database.url()).success();
    database
}
