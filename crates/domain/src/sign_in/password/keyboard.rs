//! Which keys lie side by side.

/// The rows of a keyboard from the digits down: what its keys type, and beside it what they type with Shift.
pub(super) struct Layout([&'static [&'static str]; 4]);

/// The American one, and how others differ from it.
pub(super) const LAYOUTS: [Layout; 4] = [
    Layout([
        &["1234567890-=", "!@#$%^&*()_+"],
        &["qwertyuiop[]"],
        &["asdfghjkl;'"],
        &["zxcvbnm,./"],
    ]),
    Layout([
        &["1234567890", "!\"§$%&/()="],
        &["qwertzuiopü"],
        &["asdfghjklöä"],
        &["yxcvbnm,.-"],
    ]),
    Layout([
        &["&é\"'(-è_çà", "1234567890"],
        &["azertyuiop"],
        &["qsdfghjklm"],
        &["wxcvbn,;:!"],
    ]),
    Layout([
        &["1234567890"],
        &["йцукенгшщзхъ"],
        &["фывапролджэ"],
        &["ячсмитьбю"],
    ]),
];

/// From a key to its neighbour: this many to the right, this many rows down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step(isize, isize);

impl Layout {
    /// The step between two keys that lie side by side. A row lies half a key to the right of the one above.
    pub(super) fn step(&self, from: char, to: char) -> Option<Step> {
        let (from_column, from_row) = self.place(from)?;
        let (to_column, to_row) = self.place(to)?;
        let step = Step(
            to_column.checked_signed_diff(from_column)?,
            to_row.checked_signed_diff(from_row)?,
        );
        let is_neighbour = matches!(
            step,
            Step(-1 | 1, 0) | Step(0, -1 | 1) | Step(1, -1) | Step(-1, 1)
        );
        is_neighbour.then_some(step)
    }

    fn place(&self, key: char) -> Option<(usize, usize)> {
        self.0.iter().enumerate().find_map(|(row, keys)| {
            let column = keys
                .iter()
                .find_map(|keys| keys.chars().position(|other| other == key))?;
            Some((column, row))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{LAYOUTS, Step};

    #[test]
    fn neighbouring_keys_are_adjacent_or_half_a_key_apart() {
        let [american, german, ..] = &LAYOUTS;
        assert_eq!(american.step('s', 'd'), Some(Step(1, 0)));
        assert_eq!(american.step('1', 'q'), Some(Step(0, 1)));
        assert_eq!(american.step('q', '2'), Some(Step(1, -1)));
        assert_eq!(american.step('!', '@'), Some(Step(1, 0)));
        assert_eq!(german.step('t', 'z'), Some(Step(1, 0)));
        for (from, to) in [
            ('q', 'q'),
            ('q', 'e'),
            ('q', 's'),
            ('t', 'z'),
            ('q', 'ф'),
            ('ф', 'ы'),
        ] {
            assert_eq!(american.step(from, to), None, "{from}{to}");
        }
    }
}
