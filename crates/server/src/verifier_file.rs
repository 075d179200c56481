//! The file that names the verifiers: lines `name:SHA-256 of the secret`, in hexadecimal.

use keyward_domain::verifier::{VerifierName, VerifierSecretDigest, Verifiers};

use crate::program;
use crate::watched_file::FileContent;

/// Some editors and shells write it without showing it.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The first line that names no verifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub(crate) struct InvalidLine {
    line: usize,
    problem: LineProblem,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LineProblem {
    #[error("begins with a byte order mark (U+FEFF): save the file without one")]
    ByteOrderMark,
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

impl FileContent for Verifiers {
    const RECORDS: &'static str = "verifiers";
    const OPTION: &'static str = "--verifiers";
    const TASK: &'static str = "verifiers";

    type Invalid = InvalidLine;

    fn parse(bytes: &[u8]) -> Result<Self, InvalidLine> {
        if bytes.starts_with(BYTE_ORDER_MARK) {
            return Err(InvalidLine {
                line: 1,
                problem: LineProblem::ByteOrderMark,
            });
        }
        let mut verifiers = Self::default();
        for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            let line_number = index + 1;
            let read = read_line(line).map_err(|problem| InvalidLine {
                line: line_number,
                problem,
            })?;
            if let Some((name, secret)) = read {
                verifiers.add(name, secret);
            }
        }
        Ok(verifiers)
    }

    fn count(&self) -> usize {
        self.count()
    }
}

/// Reads a line; `None` if it is empty or a comment.
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
        <Verifiers as FileContent>::parse(text).map_err(|error| (error.line, error.problem))
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
        assert_eq!(
            parsed(format!("\u{feff}orders:{digest}").as_bytes()),
            Err((1, LineProblem::ByteOrderMark))
        );
        assert_eq!(parsed(b"# a\n\xff"), Err((2, LineProblem::NotText)));
    }
}
