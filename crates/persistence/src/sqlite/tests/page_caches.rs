//! How SQLite was compiled: see `.cargo/config.toml`.

use diesel::prelude::{Connection, QueryableByName, RunQueryDsl, SqliteConnection};
use diesel::sql_types::Text;

#[derive(QueryableByName)]
struct CompileOption {
    #[diesel(sql_type = Text)]
    compile_options: String,
}

#[test]
fn connections_share_no_page_cache() {
    let mut connection = SqliteConnection::establish(":memory:").unwrap();
    let options: Vec<CompileOption> = diesel::sql_query("PRAGMA compile_options")
        .load(&mut connection)
        .unwrap();
    let has = |name: &str| options.iter().any(|option| option.compile_options == name);
    assert!(has("DEFAULT_MEMSTATUS=0"));
    assert!(!has("ENABLE_MEMORY_MANAGEMENT"));
}
