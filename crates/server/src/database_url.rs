//! The database's URL, which may hold a password: from a variable or a file, and from a flag only without
//! one.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;
use zeroize::Zeroizing;

use crate::secret::Secret;

/// The variable that holds the URL.
pub(crate) const VARIABLE: &str = "KEYWARD_DATABASE_URL";
/// The variable that names a file which holds the URL.
pub(crate) const FILE_VARIABLE: &str = "KEYWARD_DATABASE_URL_FILE";
/// The variable that holds the URL for migrations, if they need another role.
pub(crate) const MIGRATION_VARIABLE: &str = "KEYWARD_MIGRATION_DATABASE_URL";
/// The variable that names a file which holds that URL.
pub(crate) const MIGRATION_FILE_VARIABLE: &str = "KEYWARD_MIGRATION_DATABASE_URL_FILE";

pub(crate) const VARIABLES: [&str; 4] = [
    VARIABLE,
    FILE_VARIABLE,
    MIGRATION_VARIABLE,
    MIGRATION_FILE_VARIABLE,
];

/// The maximum length of a file with a URL.
const MAX_FILE_BYTES: usize = 16 * 1024;

/// Where a URL may be given.
#[derive(Debug, Clone, Copy)]
struct Variables {
    url: &'static str,
    file: &'static str,
}

const SERVICE_VARIABLES: Variables = Variables {
    url: VARIABLE,
    file: FILE_VARIABLE,
};
const MIGRATION_VARIABLES: Variables = Variables {
    url: MIGRATION_VARIABLE,
    file: MIGRATION_FILE_VARIABLE,
};

#[derive(Debug, thiserror::Error)]
pub(crate) enum DatabaseUrlError {
    #[error("{url} and {file} are both set: unset one of them")]
    Ambiguous { url: &'static str, file: &'static str },
    #[error(
        "--database-url holds a password, which every user of this machine can read: set {VARIABLE} instead, or name a \
         file that holds the URL in {FILE_VARIABLE}"
    )]
    PasswordInFlag,
    #[error("{0} is not valid UTF-8: percent-encode non-ASCII characters in the URL")]
    NotText(&'static str),
    #[error("the file {path} that {variable} names cannot be read")]
    UnreadableFile {
        variable: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("the file {path} that {variable} names is empty: write the database's URL into it")]
    EmptyFile { variable: &'static str, path: PathBuf },
    #[error("the file {path} that {variable} names is too long: it must hold one line, the database's URL")]
    FileTooLong { variable: &'static str, path: PathBuf },
    #[error("the file {path} that {variable} names must hold one line, the database's URL")]
    SeveralLines { variable: &'static str, path: PathBuf },
    #[error("{MIGRATION_VARIABLE} is set, but the database is a file: set {VARIABLE}, too, or unset it")]
    MigrationsAlone,
}

impl DatabaseUrlError {
    /// Whether the options are wrong, and not the file that one of them names.
    pub(crate) const fn is_about_options(&self) -> bool {
        match self {
            Self::Ambiguous { .. } | Self::PasswordInFlag | Self::NotText(_) | Self::MigrationsAlone => true,
            Self::UnreadableFile { .. }
            | Self::EmptyFile { .. }
            | Self::FileTooLong { .. }
            | Self::SeveralLines { .. } => false,
        }
    }
}

/// The URL from the flag, else from one of the variables, if there is any.
pub(crate) fn resolve(
    flag: Option<&Secret>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Option<Secret>, DatabaseUrlError> {
    if let Some(url) = flag {
        return if holds_password(url.expose()) {
            Err(DatabaseUrlError::PasswordInFlag)
        } else {
            Ok(Some(url.clone()))
        };
    }
    from_variables(SERVICE_VARIABLES, variable)
}

/// The URL for migrations, if it is another one. There is no flag for it, because other users of the machine
/// would see in the list of processes which role owns the database.
pub(crate) fn of_migrations(
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Option<Secret>, DatabaseUrlError> {
    from_variables(MIGRATION_VARIABLES, variable)
}

/// The files that hold a URL.
pub(crate) fn files(variable: impl Fn(&str) -> Option<OsString>) -> impl Iterator<Item = PathBuf> {
    [FILE_VARIABLE, MIGRATION_FILE_VARIABLE]
        .map(variable)
        .into_iter()
        .flatten()
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
}

fn from_variables(
    Variables { url, file }: Variables,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Option<Secret>, DatabaseUrlError> {
    let non_empty = |name| variable(name).filter(|value| !value.is_empty());
    match (non_empty(url), non_empty(file)) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(DatabaseUrlError::Ambiguous { url, file }),
        (Some(given), None) => given
            .into_string()
            .map(|given| Some(Secret::new(given)))
            .map_err(|_| DatabaseUrlError::NotText(url)),
        (None, Some(path)) => from_file(file, Path::new(&path)),
    }
}

fn from_file(variable: &'static str, path: &Path) -> Result<Option<Secret>, DatabaseUrlError> {
    let path = path.to_owned();
    let text = match read_bounded(&path) {
        Ok(text) if text.len() > MAX_FILE_BYTES => {
            return Err(DatabaseUrlError::FileTooLong { variable, path });
        }
        Ok(text) => text,
        Err(source) => {
            return Err(DatabaseUrlError::UnreadableFile {
                variable,
                path,
                source,
            });
        }
    };
    match text.trim() {
        "" => Err(DatabaseUrlError::EmptyFile { variable, path }),
        lines if lines.contains('\n') => Err(DatabaseUrlError::SeveralLines { variable, path }),
        url => Ok(Some(Secret::new(url.to_owned()))),
    }
}

/// Reads at most one byte more than a URL can have, because the file may be a device or a log.
fn read_bounded(path: &Path) -> io::Result<Zeroizing<String>> {
    let mut text = Zeroizing::new(String::with_capacity(MAX_FILE_BYTES + 1));
    File::open(path)?
        .take(MAX_FILE_BYTES as u64 + 1)
        .read_to_string(&mut text)?;
    Ok(text)
}

/// Whether a text may hold a password: `user:password@` before the host, or `password=` as parameter. It errs
/// on the side of refusal.
fn holds_password(url: &str) -> bool {
    let before_host = url
        .split_once("://")
        .map_or(url, |(_, rest)| rest)
        .rsplit_once('@')
        .map(|(user_and_password, _)| user_and_password);
    before_host.is_some_and(|text| text.contains(':')) || names_password(url)
}

/// Whether a parameter is named `password`, also percent-encoded, and with space before its `=`.
fn names_password(url: &str) -> bool {
    let decoded = Zeroizing::new(percent_decode_str(url).decode_utf8_lossy().into_owned());
    [url, &decoded].into_iter().any(|text| {
        let mut text = text.to_ascii_lowercase();
        text.retain(|character| !character.is_whitespace());
        text.contains("password=")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "postgres://keyward:s3cret@db.example.com/keyward";

    fn resolved(flag: Option<&str>, variables: &[(&str, &str)]) -> Result<Option<String>, DatabaseUrlError> {
        let flag = flag.map(|url| Secret::new(url.to_owned()));
        let variable = |name: &str| {
            variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| OsString::from(value))
        };
        let url = resolve(flag.as_ref(), variable)?;
        Ok(url.map(|url| url.expose().to_owned()))
    }

    #[test]
    fn database_flag_overrides_the_variable() {
        let url = resolved(Some("postgres://me@host/db"), &[(VARIABLE, URL)]).unwrap();
        assert_eq!(url.as_deref(), Some("postgres://me@host/db"));
    }

    #[test]
    fn database_variable_may_contain_a_password() {
        let url = resolved(None, &[(VARIABLE, URL)]).unwrap();
        assert_eq!(url.as_deref(), Some(URL));
    }

    #[test]
    fn password_in_the_database_flag_is_rejected_and_not_repeated() {
        for url in [
            URL,
            "postgres://:s3cret@host/db",
            "postgres://me:s3cret@/db?host=/run",
            "postgres://me:s3@cret@host/db",
            "postgres://me:s3/cret@host/db",
            "postgres://me@host/db?password=s3cret",
            "host=localhost PASSWORD=s3cret",
            "host=localhost password = s3cret",
            "postgres://me@host/db?pass%77ord=s3cret",
            "postgres://me@host/db?%70%41SSWORD%3Ds3cret",
        ] {
            let error = resolved(Some(url), &[]).unwrap_err();
            assert!(matches!(error, DatabaseUrlError::PasswordInFlag), "{url}");
            assert!(!error.to_string().contains("s3"), "{error}");
        }
        for url in [
            "postgres://me@host:5432/db",
            "postgres://host:5432/db",
            "postgres:///db?host=/run",
        ] {
            assert!(resolved(Some(url), &[]).is_ok(), "{url}");
        }
    }

    #[test]
    fn no_database_url_without_flag_or_variable() {
        for variables in [&[][..], &[(VARIABLE, ""), (FILE_VARIABLE, "")]] {
            assert_eq!(resolved(None, variables).unwrap(), None);
        }
    }

    #[test]
    fn two_database_url_sources_are_rejected() {
        let error = resolved(None, &[(VARIABLE, URL), (FILE_VARIABLE, "/run/secrets/url")]).unwrap_err();
        assert!(matches!(error, DatabaseUrlError::Ambiguous { .. }));
    }

    #[test]
    fn empty_variable_counts_as_unset() {
        let url = resolved(None, &[(VARIABLE, URL), (FILE_VARIABLE, "")]).unwrap();
        assert_eq!(url.as_deref(), Some(URL));
    }

    #[test]
    fn url_file_holds_one_line_with_optional_line_feed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("url");
        let from_file = || resolved(None, &[(FILE_VARIABLE, file.to_str().unwrap())]);

        assert!(matches!(
            from_file().unwrap_err(),
            DatabaseUrlError::UnreadableFile { .. }
        ));
        std::fs::write(&file, "\n").unwrap();
        assert!(matches!(
            from_file().unwrap_err(),
            DatabaseUrlError::EmptyFile { .. }
        ));
        std::fs::write(&file, format!("{URL}\n{URL}\n")).unwrap();
        assert!(matches!(
            from_file().unwrap_err(),
            DatabaseUrlError::SeveralLines { .. }
        ));
        std::fs::write(&file, URL.repeat(1_000)).unwrap();
        assert!(matches!(
            from_file().unwrap_err(),
            DatabaseUrlError::FileTooLong { .. }
        ));
        std::fs::write(&file, format!("{URL}\n")).unwrap();
        assert_eq!(from_file().unwrap().as_deref(), Some(URL));
    }
}
