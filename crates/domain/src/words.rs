//! Enums with a text form for storage, the API and people.

use std::fmt;

/// A value written by a newer version of Keyward, which this version shows, searches and exports unchanged: 1
/// to 64 lower-case letters, underscores and dots.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct NewerWord {
    letters: [u8; Self::MAX],
    length: usize,
}

impl NewerWord {
    const MAX: usize = 64;

    /// Reads such a word; `None` if it has another number of dots.
    pub(crate) fn with_dots(word: &str, dots: usize) -> Option<Self> {
        let is_letter = |byte: u8| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'.');
        let parts = word.split('.');
        if !word.bytes().all(is_letter) || parts.clone().any(str::is_empty) || parts.count() != dots + 1 {
            return None;
        }
        let mut letters = [0; Self::MAX];
        letters.get_mut(..word.len())?.copy_from_slice(word.as_bytes());
        Some(Self {
            letters,
            length: word.len(),
        })
    }

    /// The word as the newer version wrote it.
    pub const fn as_str(&self) -> &str {
        match std::str::from_utf8(self.letters.split_at(self.length).0) {
            Ok(word) => word,
            // Cannot happen: these are letters.
            Err(_) => "",
        }
    }
}

impl fmt::Debug for NewerWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NewerWord").field(&self.as_str()).finish()
    }
}

/// Declares such an enum with `as_str` and `from_word`. One whose words may be newer than this version is
/// declared `or NewerWord` with the number of dots in its words.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident or NewerWord($dots:literal) { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
            /// Something that only a newer version knows.
            Other($crate::words::NewerWord),
        }

        impl $name {
            /// Every one that this version knows.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The word that stands for it in storage and to people.
            pub const fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::Other(word) => word.as_str(),
                }
            }

            /// Reads the word back, also that of a newer version.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)*
                    _ => $crate::words::NewerWord::with_dots(word, $dots).map(Self::Other),
                }
            }
        }
    };
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant),*
        }

        impl $name {
            /// Every one of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The word that stands for it in storage and to people.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }

            /// Reads the word back.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }
        }
    };
}
pub(crate) use words;

#[cfg(test)]
mod tests {
    use super::NewerWord;
    use crate::api_key::RevocationReason;
    use crate::audit::{Action, Outcome};
    use crate::membership::Role;

    // What stands in storage and in clients' code must never change.
    #[test]
    fn stored_words_round_trip_and_never_change() {
        for (action, word) in [
            (Action::CreateSetupLink, "setup_link.create"),
            (Action::CreateOrganization, "organization.create"),
            (
                Action::EnableKeyManagement,
                "organization.enable_default_key_management",
            ),
            (
                Action::DisableKeyManagement,
                "organization.disable_default_key_management",
            ),
            (Action::LimitKeyLife, "organization.limit_key_life"),
            (Action::ChangeMembershipExpiry, "membership.change_expiry"),
            (Action::CreateUser, "user.create"),
            (Action::CreateMembership, "membership.create"),
            (Action::MakeOwner, "membership.make_owner"),
            (Action::MakeMember, "membership.make_member"),
            (Action::RemoveMember, "membership.remove"),
            (Action::LeaveOrganization, "membership.leave"),
            (Action::ExpireMembership, "membership.expire"),
            (Action::CreateInvitation, "invitation.create"),
            (Action::RevokeInvitation, "invitation.revoke"),
            (Action::AcceptInvitation, "invitation.accept"),
            (Action::CreateProject, "project.create"),
            (Action::RenameProject, "project.rename"),
            (Action::ArchiveProject, "project.archive"),
            (Action::RestoreProject, "project.restore"),
            (Action::AddProjectMember, "project.add_member"),
            (Action::RemoveProjectMember, "project.remove_member"),
            (Action::ResetPassword, "user.reset_password"),
            (Action::ChangePassword, "user.change_password"),
            (Action::SignIn, "session.sign_in"),
            (Action::SignOut, "session.sign_out"),
            (Action::EndSession, "session.end"),
            (Action::LimitAttempts, "user.limit_attempts"),
            (Action::CreateApiKey, "api_key.create"),
            (Action::CreateRestrictedApiKey, "api_key.create_restricted"),
            (Action::EditApiKey, "api_key.edit"),
            (Action::ChangeExpiry, "api_key.change_expiry"),
            (Action::RotateApiKey, "api_key.rotate"),
            (Action::RevokeApiKey, "api_key.revoke"),
            (Action::ExpireApiKey, "api_key.expire"),
            (Action::UseApiKey, "api_key.use"),
            (Action::RemoveAuditEvents, "audit_log.remove_old"),
            (Action::ExportAuditLog, "audit_log.export"),
        ] {
            assert_eq!(action.as_str(), word);
            assert_eq!(Action::from_word(word), Some(action));
        }
        for (reason, word) in [
            (RevocationReason::Holder, "holder"),
            (RevocationReason::Owner, "owner"),
            (RevocationReason::Leak, "leak"),
            (RevocationReason::Administrator, "administrator"),
            (RevocationReason::Expired, "expired"),
            (RevocationReason::Rotation, "rotation"),
        ] {
            assert_eq!(reason.as_str(), word);
            assert_eq!(RevocationReason::from_word(word), Some(reason));
        }
        for (outcome, word) in [(Outcome::Success, "success"), (Outcome::Refused, "refused")] {
            assert_eq!(outcome.as_str(), word);
            assert_eq!(Outcome::from_word(word), Some(outcome));
        }
        for (role, word) in [(Role::Owner, "owner"), (Role::Member, "member")] {
            assert_eq!(role.as_str(), word);
            assert_eq!(Role::from_word(word), Some(role));
        }
    }

    #[test]
    fn words_of_newer_versions_are_preserved() {
        let longest = format!("{}.{}", "a".repeat(31), "b".repeat(32));
        for word in ["api_key.sing", "a.b", &longest] {
            let action = Action::from_word(word).unwrap();
            assert!(matches!(action, Action::Other(_)), "{action:?}");
            assert_eq!(action.as_str(), word);
        }
        let reason = RevocationReason::from_word("inactive").unwrap();
        assert!(matches!(reason, RevocationReason::Other(_)), "{reason:?}");
        assert_eq!(reason.as_str(), "inactive");
        for word in ["", "in.active", "Inactive"] {
            assert_eq!(RevocationReason::from_word(word), None, "{word:?}");
        }
        let too_long = format!("{longest}b");
        for word in ["", ".", "rotate", "a.b.c", "a.B", "a.b ", "a.\u{e9}", &too_long] {
            assert_eq!(Action::from_word(word), None, "{word:?}");
        }
    }

    #[test]
    fn older_versions_can_read_every_action() {
        for action in Action::ALL {
            let word = action.as_str();
            let read = NewerWord::with_dots(word, 1).unwrap();
            assert_eq!(read.as_str(), word);
        }
    }

    #[test]
    fn unknown_words_are_rejected() {
        for word in ["", "Owner", "owner ", "admin"] {
            assert_eq!(Role::from_word(word), None, "{word:?}");
        }
    }
}
