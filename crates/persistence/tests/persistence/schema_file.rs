//! Compares the tables as diesel sees them, which are kept by hand, with those of a migrated database.

use std::collections::{BTreeMap, BTreeSet};

/// The tables of both databases.
const TABLES: &str = include_str!("../../src/sql/tables.rs");

/// The columns of a key with texts that people write, except the note of its revocation.
pub(crate) fn texts_of_keys() -> Vec<&'static str> {
    let (_, columns) = TABLES.split_once(" api_keys (id) {").expect("the table");
    let (columns, _) = columns.split_once('}').expect("its end");
    let texts = columns.lines().filter_map(|line| {
        let (name, sql_type) = line.trim().split_once(" -> ")?;
        sql_type.contains("Text").then_some(name)
    });
    let is_written = |name: &&str| {
        !name.starts_with("revoked_") && !["hint", "search_text", "last_used_from"].contains(name)
    };
    texts.filter(is_written).collect()
}

pub(crate) struct SchemaFile {
    /// The text of its own `schema.rs`.
    pub(crate) tables: &'static str,
    /// The text of its `dialect.rs`, which names its types.
    pub(crate) dialect: &'static str,
    /// Columns that no query of diesel's names.
    pub(crate) unnamed: &'static [(&'static str, &'static str)],
}

/// One column of a table, as diesel names its type.
pub(crate) struct Column {
    pub(crate) table: String,
    /// The columns of the table's primary key, joined by `, `.
    pub(crate) primary_key: String,
    pub(crate) name: String,
    pub(crate) sql_type: String,
}

impl SchemaFile {
    /// Panics unless the `table!` macros describe exactly these columns, which are ordered by table and place.
    #[track_caller]
    pub(crate) fn assert_describes(&self, columns: &[Column]) {
        let mut described = self.described();
        let mut unnamed: BTreeSet<_> = self.unnamed.iter().copied().collect();
        for of_table in columns.chunk_by(|one, next| one.table == next.table) {
            let Column {
                table, primary_key, ..
            } = &of_table[0];
            let migrated = of_table
                .iter()
                .filter(|column| !unnamed.remove(&(table.as_str(), column.name.as_str())))
                .map(|Column { name, sql_type, .. }| format!("{name} -> {sql_type},"))
                .collect::<Vec<_>>();
            assert_eq!(
                described.remove(&format!("{table} ({primary_key})")),
                Some(migrated),
                "what diesel sees (left) and the migrations (right) differ in `{table}`"
            );
        }
        assert_eq!(
            described,
            BTreeMap::new(),
            "tables or keys that no migration makes"
        );
        assert_eq!(unnamed, BTreeSet::new(), "columns that no migration makes");
    }

    /// Panics unless the `joinable!` macros are of these foreign keys: of each the table, the one that it
    /// refers to, and the column.
    #[track_caller]
    pub(crate) fn assert_joins_are_foreign_keys(&self, foreign_keys: &[[String; 3]]) {
        let macros: Vec<_> = foreign_keys
            .iter()
            .map(|[table, parent, column]| format!("diesel::joinable!({table} -> {parent} ({column}));"))
            .collect();
        let written = self.lines().filter(|line| line.starts_with("diesel::joinable!"));
        let (joins, wrong): (Vec<_>, Vec<_>) = written.partition(|join| macros.iter().any(|key| key == join));
        assert_eq!(wrong, Vec::<&str>::new(), "no foreign keys");
        assert_ne!(joins, Vec::<&str>::new());
    }

    /// By table and key, the columns, with this database's types.
    fn described(&self) -> BTreeMap<String, Vec<String>> {
        let types = self.types();
        let mut described = BTreeMap::new();
        let mut columns: Option<(&str, Vec<String>)> = None;
        // Every line from a table's first to its last is one of its columns.
        for line in self.lines() {
            match (&mut columns, line) {
                (None, line) if line.ends_with(") {") => {
                    columns = line.strip_suffix(" {").map(|table| (table, Vec::new()));
                }
                (None, _) => {}
                (Some(_), "}") => {
                    let table = columns.take().map(|(table, columns)| (table.to_owned(), columns));
                    let (table, columns) = table.expect("a table");
                    let other = described.insert(table.clone(), columns);
                    assert_eq!(other, None, "`{table}` is there twice");
                }
                (Some((_, columns)), line) => {
                    let (name, sql_type) = line.split_once(" -> ").expect("a column");
                    columns.push(format!("{name} -> {}", translated(sql_type, &types)));
                }
            }
        }
        described
    }

    fn lines(&self) -> impl Iterator<Item = &'static str> {
        TABLES
            .lines()
            .chain(self.tables.lines())
            .map(str::trim)
            .skip_while(|line| !line.starts_with("tables! {"))
    }

    /// The types by the names that `tables.rs` has for them.
    fn types(&self) -> Vec<(&'static str, &'static str)> {
        let (_, rest) = self
            .dialect
            .split_once("pub(super) use diesel::sql_types::{")
            .expect("the names of types");
        let (names, _) = rest.split_once('}').expect("their end");
        let pairs = names.split(',').filter_map(|pair| pair.trim().split_once(" as "));
        pairs.map(|(sql_type, name)| (name, sql_type)).collect()
    }
}

fn translated(sql_type: &str, types: &[(&str, &str)]) -> String {
    let bare = sql_type.trim_end_matches(',').trim_end_matches('>');
    let bare = bare.trim_start_matches("Nullable<");
    let own = types.iter().find(|(name, _)| *name == bare);
    own.map_or_else(|| sql_type.to_owned(), |(_, own)| sql_type.replace(bare, own))
}
