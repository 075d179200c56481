//! How SQLite was compiled: see `.cargo/config.toml`.

use diesel::prelude::{Connection, QueryableByName, RunQueryDsl, SqliteConnection};
use diesel::sql_types::Text;

#[derive(QueryableByName)]
struct CompileOption {
    #[diesel(sql_type = Text)]
    compile_options: String,
}

#[test]
fn sqlite_is_compiled_as_the_configuration_says() {
    let mut connection = SqliteConnection::establish(":memory:").unwrap();
    let options: Vec<CompileOption> = diesel::sql_query("PRAGMA compile_options")
        .load(&mut connection)
        .unwrap();
    let has = |name: &str| options.iter().any(|option| option.compile_options == name);
    assert!(has("DEFAULT_MEMSTATUS=0"));
    for not_wanted in [
        "ENABLE_MEMORY_MANAGEMENT",
        "ENABLE_FTS3",
        "ENABLE_FTS3_PARENTHESIS",
        "ENABLE_RTREE",
    ] {
        assert!(!has(not_wanted), "{not_wanted}");
    }
}
