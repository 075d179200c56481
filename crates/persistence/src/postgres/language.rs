//! The language in which PostgreSQL writes its messages. diesel passes the words of an error on, but not its code (SQLSTATE),
//! so some errors are told apart by their words.

use diesel::dsl::sql;
use diesel::prelude::QueryResult;
use diesel::sql_types::Text;
use diesel_async::{AsyncPgConnection, RunQueryDsl};

/// What a server that speaks English says of the setting.
const IN_ENGLISH: &str = "Sets the language in which messages are displayed.";

/// What `lc_messages` is, if the server's messages are not in English.
pub(super) async fn other_than_english(connection: &mut AsyncPgConnection) -> QueryResult<Option<String>> {
    let described = "(SELECT short_desc FROM pg_settings WHERE name = 'lc_messages')";
    let setting = (
        sql::<Text>("current_setting('lc_messages')"),
        sql::<Text>(described),
    );
    let (locale, description): (String, String) = diesel::select(setting).get_result(connection).await?;
    Ok((!is_english(&locale, &description)).then_some(locale))
}

/// A server that was built without translations, or lacks those of a language, speaks English whatever the setting is; then
/// it describes the setting in English, too.
fn is_english(locale: &str, description: &str) -> bool {
    let language = locale.split(['_', '.', '@']).next().unwrap_or_default();
    matches!(language, "C" | "POSIX" | "en") || language.starts_with("English") || description == IN_ENGLISH
}

#[cfg(test)]
mod tests {
    use super::{IN_ENGLISH, is_english};

    #[test]
    fn a_server_speaks_english_by_its_setting_or_for_want_of_a_translation() {
        let in_german = "Setzt die Sprache, in der Mitteilungen ausgegeben werden.";
        for locale in [
            "C",
            "POSIX",
            "C.UTF-8",
            "en_US.utf8",
            "en_GB",
            "English_United States.1252",
        ] {
            assert!(is_english(locale, in_german), "{locale}");
        }
        for locale in ["de_DE.utf8", "", "ca_ES@euro"] {
            assert!(!is_english(locale, in_german), "{locale}");
            assert!(is_english(locale, IN_ENGLISH), "{locale}");
        }
    }
}
