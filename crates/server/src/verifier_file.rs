//! The file that names the verifiers: lines `name:SHA-256 of the secret`, in hexadecimal.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use keyward_domain::verifier::{VerifierName, VerifierSecretDigest, Verifiers};

use crate::program;

/// Far more than any number of services needs.
const MAX_BYTES: u64 = 1024 * 1024;

/// Why a file names no verifiers. No message repeats anything of the file: it may hold a secret by mistake.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VerifierFileError {
    #[error("cannot read {} (set --verifiers to a file that this user may read)", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} is no regular file: set --verifiers to one", .path.display())]
    NotAFile { path: PathBuf },
    #[error("{} is larger than 1 MiB: set --verifiers to a file that has only verifiers", .path.display())]
    TooLarge { path: PathBuf },
    #[error("{}, line {line}: {problem}", .path.display())]
    Line {
        path: PathBuf,
        line: usize,
        problem: LineProblem,
    },
}

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LineProblem {
    #[error("not valid UTF-8: save the file as UTF-8")]
    NotText,
    #[error(
        "expected NAME:DIGEST, as `{} verifier create NAME` prints it",
        program::name()
    )]
    NoColon,
    #[error("the name before the colon must be 1 to 64 letters, digits, dots, underscores and hyphens")]
    Name,
    #[error(
        "after the colon, expected the SHA-256 of the secret in 64 hexadecimal digits, as `{} verifier create NAME` prints \
         it",
        program::name()
    )]
    Digest,
}

/// A verifier's line, with its end.
pub(crate) fn line(name: &VerifierName, secret: VerifierSecretDigest) -> String {
    format!("{name}:{}\n", secret.to_hex())
}

/// The bytes of the file.
///
/// # Errors
/// It cannot be read, is no regular file or is too large.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, VerifierFileError> {
    let unreadable = |source| VerifierFileError::Unreadable {
        path: path.to_owned(),
        source,
    };
    // Asked before it is opened: to open a pipe would wait for its writer.
    if !path.metadata().map_err(unreadable)?.is_file() {
        return Err(VerifierFileError::NotAFile {
            path: path.to_owned(),
        });
    }
    let file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(VerifierFileError::TooLarge {
            path: path.to_owned(),
        });
    }
    Ok(bytes)
}

/// The verifiers that these bytes of the file name.
///
/// # Errors
/// Names the first line that is wrong.
pub(crate) fn parse(path: &Path, bytes: &[u8]) -> Result<Verifiers, VerifierFileError> {
    let mut verifiers = Verifiers::default();
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let read = read_line(line).map_err(|problem| VerifierFileError::Line {
            path: path.to_owned(),
            line: index + 1,
            problem,
        })?;
        if let Some((name, secret)) = read {
            verifiers.add(name, secret);
        }
    }
    Ok(verifiers)
}

/// What a line says; nothing if it is empty or a comment.
fn read_line(line: &[u8]) -> Result<Option<(VerifierName, VerifierSecretDigest)>, LineProblem> {
    let line = std::str::from_utf8(line)
        .map_err(|_| LineProblem::NotText)?
        .trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let (name, digest) = line.split_once(':').ok_or(LineProblem::NoColon)?;
    let name = VerifierName::parse(name.trim_end()).map_err(|_| LineProblem::Name)?;
    let digest = VerifierSecretDigest::from_hex(digest.trim_start()).ok_or(LineProblem::Digest)?;
    Ok(Some((name, digest)))
}

#[cfg(test)]
mod tests {
    use keyward_domain::verifier::VerifierSecret;

    use super::*;
    use crate::random::OsRandom;

    fn parsed(text: &[u8]) -> Result<Verifiers, (usize, LineProblem)> {
        parse(Path::new("file"), text).map_err(|error| match error {
            VerifierFileError::Line { line, problem, .. } => (line, problem),
            other => panic!("{other}"),
        })
    }

    #[test]
    fn lines_name_verifiers_between_comments() {
        let (orders, billing) = (
            VerifierSecret::generate(&OsRandom),
            VerifierSecret::generate(&OsRandom),
        );
        let digest = orders.digest().to_hex().to_uppercase();
        let other = line(&VerifierName::parse("billing").unwrap(), billing.digest());
        let text = format!("# Services\r\n\r\n  orders : {digest}\r\n#orders:x\n{other}");
        let verifiers = parsed(text.as_bytes()).unwrap();
        assert_eq!(verifiers.count(), 2);
        for (name, secret) in [("orders", &orders), ("billing", &billing)] {
            assert!(
                verifiers.find(name, secret.expose().as_bytes()).is_some(),
                "{name}"
            );
        }
        assert_eq!(parsed(b""), Ok(Verifiers::default()));
    }

    #[test]
    fn first_wrong_line_is_named() {
        let digest = "0".repeat(64);
        for (text, line, problem) in [
            ("orders".to_owned(), 1, LineProblem::NoColon),
            (format!("\n# x\nor ders:{digest}"), 3, LineProblem::Name),
            (format!(":{digest}"), 1, LineProblem::Name),
            (
                format!("a:{digest}\nb:{}\nc", &digest[1..]),
                2,
                LineProblem::Digest,
            ),
            (format!("a:{digest}:x"), 1, LineProblem::Digest),
            (format!("a:{}", digest.replace('0', "g")), 1, LineProblem::Digest),
            ("orders:hunter2".to_owned(), 1, LineProblem::Digest),
        ] {
            assert_eq!(parsed(text.as_bytes()), Err((line, problem)), "{text}");
        }
        assert_eq!(parsed(b"# a\n\xff"), Err((2, LineProblem::NotText)));
    }
}
