//! What PostgreSQL's catalogue says about the tables.

use tokio_postgres::{Client, NoTls, Row};

/// diesel's own table of the migrations that have run.
const MIGRATIONS_TABLE: &str = "__diesel_schema_migrations";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
    /// The names of its columns in the key's order; empty without a primary key.
    pub(crate) primary_key: Vec<String>,
    pub(crate) foreign_keys: Vec<ForeignKey>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// PostgreSQL's internal name, as `int4`.
    pub(crate) type_name: String,
    pub(crate) nullable: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForeignKey {
    pub(crate) columns: Vec<String>,
    pub(crate) parent: String,
    pub(crate) parent_columns: Vec<String>,
}

/// Reads the tables of the schema `public`, ordered by name, without diesel's own.
pub(crate) async fn read(url: &str) -> Result<Vec<Table>, String> {
    let (client, connection) = tokio_postgres::connect(url, NoTls)
        .await
        .map_err(|error| error.to_string())?;
    tokio::spawn(connection);
    read_with(&client)
        .await
        .map_err(|error| format!("the catalogue could not be read: {error}"))
}

async fn read_with(client: &Client) -> Result<Vec<Table>, tokio_postgres::Error> {
    let names = client
        .query(
            "SELECT relname::text FROM pg_class \
             WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition \
             AND relname <> $1 ORDER BY relname COLLATE \"C\"",
            &[&MIGRATIONS_TABLE],
        )
        .await?;
    let mut tables = Vec::new();
    for row in names {
        let name: String = row.try_get(0)?;
        tables.push(Table {
            columns: columns(client, &name).await?,
            primary_key: primary_key(client, &name).await?,
            foreign_keys: foreign_keys(client, &name).await?,
            name,
        });
    }
    Ok(tables)
}

async fn columns(client: &Client, table: &str) -> Result<Vec<Column>, tokio_postgres::Error> {
    let rows = client
        .query(
            "SELECT attname::text, typname::text, NOT attnotnull FROM pg_attribute \
             JOIN pg_type ON pg_type.oid = atttypid \
             WHERE attrelid = ('public.' || quote_ident($1))::regclass AND attnum > 0 AND NOT attisdropped \
             ORDER BY attnum",
            &[&table],
        )
        .await?;
    rows.iter()
        .map(|row| {
            Ok(Column {
                name: row.try_get(0)?,
                type_name: row.try_get(1)?,
                nullable: row.try_get(2)?,
            })
        })
        .collect()
}

async fn primary_key(client: &Client, table: &str) -> Result<Vec<String>, tokio_postgres::Error> {
    let found = client
        .query_opt(
            "SELECT ARRAY(SELECT attname::text FROM unnest(conkey) WITH ORDINALITY AS key (number, place) \
             JOIN pg_attribute ON attrelid = conrelid AND attnum = number ORDER BY place) \
             FROM pg_constraint WHERE contype = 'p' AND conrelid = ('public.' || quote_ident($1))::regclass",
            &[&table],
        )
        .await?;
    found
        .as_ref()
        .map_or_else(|| Ok(Vec::new()), |row| row.try_get(0))
}

async fn foreign_keys(client: &Client, table: &str) -> Result<Vec<ForeignKey>, tokio_postgres::Error> {
    let rows = client
        .query(
            "SELECT ARRAY(SELECT attname::text FROM unnest(conkey) WITH ORDINALITY AS key (number, place) \
                          JOIN pg_attribute ON attrelid = conrelid AND attnum = number ORDER BY place), \
                    (SELECT relname::text FROM pg_class WHERE oid = confrelid), \
                    ARRAY(SELECT attname::text FROM unnest(confkey) WITH ORDINALITY AS key (number, place) \
                          JOIN pg_attribute ON attrelid = confrelid AND attnum = number ORDER BY place) \
             FROM pg_constraint WHERE contype = 'f' AND conrelid = ('public.' || quote_ident($1))::regclass \
             ORDER BY conname COLLATE \"C\"",
            &[&table],
        )
        .await?;
    rows.iter().map(foreign_key).collect()
}

fn foreign_key(row: &Row) -> Result<ForeignKey, tokio_postgres::Error> {
    Ok(ForeignKey {
        columns: row.try_get(0)?,
        parent: row.try_get(1)?,
        parent_columns: row.try_get(2)?,
    })
}

#[cfg(test)]
mod tests {
    use keyward_test_database::TestDatabase;

    use super::*;

    const SAMPLE: &str = r#"
        CREATE TABLE __diesel_schema_migrations (version varchar(50) PRIMARY KEY);
        CREATE TABLE organization (id uuid PRIMARY KEY, name text NOT NULL, gone int4);
        ALTER TABLE organization DROP COLUMN gone;
        CREATE TABLE "user" (id uuid PRIMARY KEY);
        CREATE TABLE membership (
            "user" uuid NOT NULL REFERENCES "user",
            organization uuid NOT NULL CONSTRAINT b REFERENCES organization,
            until timestamptz,
            PRIMARY KEY (organization, "user")
        );
        CREATE VIEW everyone AS SELECT id FROM "user";
    "#;

    async fn make_sample(url: String) -> Result<(), tokio_postgres::Error> {
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
        tokio::spawn(connection);
        client.batch_execute(SAMPLE).await
    }

    #[tokio::test]
    async fn the_catalogue_of_a_real_database_is_read_whole() {
        let database = TestDatabase::migrated(SAMPLE, make_sample).await.unwrap();
        let tables = read(database.url()).await.unwrap();
        let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
        assert_eq!(names, ["membership", "organization", "user"]);

        let column = |name: &str, type_name: &str, nullable| Column {
            name: name.to_owned(),
            type_name: type_name.to_owned(),
            nullable,
        };
        let reference = |column: &str, parent: &str| ForeignKey {
            columns: vec![column.to_owned()],
            parent: parent.to_owned(),
            parent_columns: vec!["id".to_owned()],
        };
        assert_eq!(
            tables[0],
            Table {
                name: "membership".to_owned(),
                columns: vec![
                    column("user", "uuid", false),
                    column("organization", "uuid", false),
                    column("until", "timestamptz", true)
                ],
                primary_key: vec!["organization".to_owned(), "user".to_owned()],
                foreign_keys: vec![
                    reference("organization", "organization"),
                    reference("user", "user")
                ],
            }
        );
        assert_eq!(
            tables[1].columns,
            [column("id", "uuid", false), column("name", "text", false)]
        );
    }
}
