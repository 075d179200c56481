//! Secrets that are piped into a command.

use std::io::{self, BufRead, IsTerminal, Read};

use zeroize::Zeroizing;

use crate::secret::Secret;

/// Far more than any password or token has.
const MAX_BYTES: u64 = 4096;

/// Why standard input is of no use.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StandardInputError {
    #[error(
        "standard input is a terminal, which would show the password: pipe it in, or use --generate-password"
    )]
    Terminal,
    #[error("standard input is empty: pipe one line into it")]
    Empty,
    #[error("standard input holds more than one line")]
    SeveralLines,
    #[error("standard input is longer than {MAX_BYTES} bytes")]
    TooLong,
    #[error("standard input is not valid UTF-8")]
    NotText,
    #[error("standard input cannot be read")]
    Unreadable(#[from] io::Error),
}

/// The only line of standard input, or the next one that is typed: for secrets that a terminal may show.
pub(crate) fn piped_or_typed_line() -> Result<Secret, StandardInputError> {
    let input = io::stdin().lock();
    if input.is_terminal() {
        next_line(input)
    } else {
        only_line(input)
    }
}

/// The only line of a file or pipe, without its end.
pub(crate) fn only_line(input: impl Read) -> Result<Secret, StandardInputError> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_BYTES as usize + 1));
    input.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    line(&bytes)
}

/// The next line of a terminal, whose input has no end.
fn next_line(input: impl BufRead) -> Result<Secret, StandardInputError> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_BYTES as usize + 1));
    input.take(MAX_BYTES + 1).read_until(b'\n', &mut bytes)?;
    line(&bytes)
}

fn line(bytes: &[u8]) -> Result<Secret, StandardInputError> {
    if bytes.len() as u64 > MAX_BYTES {
        return Err(StandardInputError::TooLong);
    }
    let text = str::from_utf8(bytes).map_err(|_| StandardInputError::NotText)?;
    let line = text.strip_suffix('\n').unwrap_or(text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.contains('\n') {
        Err(StandardInputError::SeveralLines)
    } else if line.is_empty() {
        Err(StandardInputError::Empty)
    } else {
        Ok(Secret::new(line.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<String, StandardInputError> {
        only_line(bytes).map(|line| line.expose().to_owned())
    }

    #[test]
    fn line_is_read_without_line_end_but_with_spaces() {
        for bytes in [&b" pass word "[..], b" pass word \n", b" pass word \r\n"] {
            assert_eq!(read(bytes).unwrap(), " pass word ");
        }
    }

    #[test]
    fn input_other_than_one_text_line_is_rejected() {
        assert!(matches!(read(b""), Err(StandardInputError::Empty)));
        assert!(matches!(read(b"\n"), Err(StandardInputError::Empty)));
        assert!(matches!(read(b"a\nb"), Err(StandardInputError::SeveralLines)));
        assert!(matches!(read(b"a\n\n"), Err(StandardInputError::SeveralLines)));
        assert!(matches!(read(b"\xff"), Err(StandardInputError::NotText)));
        assert!(matches!(read(&[b'a'; 5000]), Err(StandardInputError::TooLong)));
    }

    #[test]
    fn terminal_input_is_read_to_the_end_of_the_line() {
        let line = next_line(&b"first\nsecond\n"[..]).unwrap();
        assert_eq!(line.expose(), "first");
    }
}
