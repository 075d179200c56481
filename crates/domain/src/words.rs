//! Enums whose variants have one word each, for storage, the API and people.

/// Declares such an enum with `as_str` and `from_word`.
macro_rules! words {
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
            #[must_use]
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
    use crate::api_key::RevocationReason;
    use crate::audit::{Action, Outcome};
    use crate::membership::Role;

    // What stands in storage and in clients' code must never change.
    #[test]
    fn words_read_back_and_stay_as_they_are() {
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
            (Action::CreateUser, "user.create"),
            (Action::CreateMembership, "membership.create"),
            (Action::MakeOwner, "membership.make_owner"),
            (Action::MakeMember, "membership.make_member"),
            (Action::RemoveMember, "membership.remove"),
            (Action::LeaveOrganization, "membership.leave"),
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
            (Action::RevokeApiKey, "api_key.revoke"),
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
    fn other_words_mean_nothing() {
        for word in ["", "Owner", "owner ", "admin"] {
            assert_eq!(Role::from_word(word), None, "{word:?}");
        }
    }
}
