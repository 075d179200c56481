//! Why a text is refused.

/// Why a text was refused. The words are meant for the person who wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Nothing but white space.
    #[error("must not be empty")]
    Empty,
    /// More than `max` code points.
    #[error("must be at most {max} characters long, not {actual}")]
    TooLong {
        /// The most code points allowed.
        max: usize,
        /// How many there were after normalization and trimming.
        actual: usize,
    },
    /// A line break where one line is expected.
    #[error("must be a single line")]
    SeveralLines,
    /// A control character, or one that changes how others are drawn or is drawn as nothing itself.
    #[error("must not contain the character U+{code_point:04X}")]
    ForbiddenCharacter {
        /// The first such character.
        code_point: u32,
    },
    /// More than `max` combining marks in a row.
    #[error("must not have more than {max} combining marks in a row")]
    TooManyMarks {
        /// The most that are allowed.
        max: usize,
    },
    /// Characters, none of which can be seen.
    #[error("must have a visible character")]
    Invisible,
    /// A whole token, whose checksum holds.
    #[error("must not contain an API key: anyone who can read this could use it")]
    HoldsToken,
}
