//! Flash messages: the page after a form says once what the form did. The message is in a cookie, so no link can claim
//! that something happened.

use uuid::Uuid;

/// A message of a closed set, and the identifier of its subject. The page looks up the name: on a local installation,
/// other programs on the same host can set the cookie, so no text from it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flash {
    pub(crate) message: Message,
    /// The identifier of the key, member or project.
    pub(crate) about: Option<Uuid>,
    /// How many others it happened to.
    pub(crate) others: u32,
}

/// `Audience { Message = "code", … }`: the messages of pages for each audience.
macro_rules! messages {
    ($($audience:ident { $($(#[$doc:meta])* $message:ident = $code:literal,)+ })+) => {
        /// A message on a page.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Message {
            $($($(#[$doc])* $message,)+)+
        }

        impl Message {
            #[cfg(test)]
            const ALL: &[Self] = &[$($(Self::$message),+),+];

            const fn code(self) -> &'static str {
                match self {
                    $($(Self::$message => $code,)+)+
                }
            }

            fn from_code(code: &str) -> Option<Self> {
                match code {
                    $($($code => Some(Self::$message),)+)+
                    _ => None,
                }
            }

            const fn audience(self) -> Audience {
                match self {
                    $($(Self::$message)|+ => Audience::$audience,)+
                }
            }
        }
    };
}

messages! {
    SignIn {
        SetUp = "set-up",
        JoinedAsNewcomer = "joined-as-newcomer",
        SignedOut = "signed-out",
        /// A form was sent after the session had ended.
        FormNotSent = "form-not-sent",
        /// A page was asked for after the session had ended.
        SessionOver = "session-over",
        /// The same, but sign-in does not lead back to exactly that page.
        SessionOverElsewhere = "session-over-elsewhere",
    }
    Link {
        /// The link was not copied whole.
        LinkDamaged = "link-damaged",
    }
    Account {
        SessionEnded = "session-ended",
        OtherSessionsEnded = "other-sessions-ended",
        PasswordChanged = "password-changed",
    }
    Home {
        Left = "left",
    }
    Member {
        Joined = "joined",
        KeyRevoked = "key-revoked",
        KeyEdited = "key-edited",
        /// The form was sent twice.
        KeyAlreadyCreated = "key-already-created",
        /// The form was sent twice, or another client rotated the key first.
        KeyAlreadyRotated = "key-already-rotated",
        /// A whole token was searched for, which leads to the search for its last four characters.
        TokenLeftOut = "token-left-out",
        SteppedDown = "stepped-down",
        DefaultForNewKeysChosen = "default-for-new-keys-chosen",
        KeyLifeLimited = "key-life-limited",
        KeyLifeApplied = "key-life-applied",
        /// Another owner removed it first.
        KeyLifeRemoved = "key-life-removed",
    }
    Owner {
        MadeOwner = "made-owner",
        MadeMember = "made-member",
        MemberExpirationChanged = "member-expiration-changed",
        MemberRemoved = "member-removed",
        /// The form was sent twice.
        InvitationAlreadyCreated = "invitation-already-created",
        InvitationRevoked = "invitation-revoked",
        /// The invitation had expired before.
        InvitationDeleted = "invitation-deleted",
        /// A user joined with it before it could be revoked.
        InvitationUsed = "invitation-used",
        ProjectCreated = "project-created",
        /// The form was sent twice.
        ProjectAlreadyCreated = "project-already-created",
        ProjectRenamed = "project-renamed",
        ProjectArchived = "project-archived",
        ProjectRestored = "project-restored",
        ProjectMemberAdded = "project-member-added",
        ProjectMemberRemoved = "project-member-removed",
        KeysRevoked = "keys-revoked",
        NothingToRevoke = "nothing-to-revoke",
        NothingSelected = "nothing-selected",
    }
}

/// The readers of a message, by the pages that show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Visitors of the sign-in page.
    SignIn,
    /// Users on their account page.
    Account,
    /// Users who are sent to the start page.
    Home,
    /// Visitors with a one-time link.
    Link,
    /// Every member of an organization.
    Member,
    /// Owners of an organization.
    Owner,
}

impl Message {
    /// Whether a page for this audience shows it. A signed-out user is redirected to the sign-in page, so that one
    /// shows it in place of the list.
    pub(crate) fn appears_on(self, audience: Audience) -> bool {
        self.audience() == audience || (self == Self::TokenLeftOut && audience == Audience::SignIn)
    }

    /// The message about the key, member or project with this identifier.
    pub(crate) fn about(self, id: Uuid) -> Flash {
        Flash {
            about: Some(id),
            ..self.into()
        }
    }
}

impl From<Message> for Flash {
    fn from(message: Message) -> Self {
        Self {
            message,
            about: None,
            others: 0,
        }
    }
}

impl Flash {
    pub(crate) fn and_others(self, others: usize) -> Self {
        Self {
            others: u32::try_from(others).unwrap_or(u32::MAX),
            ..self
        }
    }

    pub(crate) fn to_text(self) -> String {
        let code = self.message.code();
        match self.about {
            Some(about) => format!("{code}.{}.{}", about.simple(), self.others),
            None => code.to_owned(),
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let mut flash = Self::from(Message::from_code(parts.next()?)?);
        if let Some(about) = parts.next() {
            flash.about = Some(about.parse().ok()?);
            flash.others = parts.next()?.parse().ok()?;
        }
        parts.next().is_none().then_some(flash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flash_message_round_trips_through_its_cookie() {
        for message in Message::ALL {
            for flash in [
                Flash::from(*message),
                message.about(Uuid::from_u128(7)).and_others(3),
            ] {
                assert_eq!(Flash::parse(&flash.to_text()), Some(flash));
            }
        }
    }

    #[test]
    fn invalid_flash_cookie_yields_no_message() {
        let id = Uuid::from_u128(7);
        for text in [
            "",
            ".",
            "key-revoked.",
            "hello",
            "key-revoked.x.0",
            &format!("key-revoked.{id}"),
            &format!("key-revoked.{id}.-1"),
            &format!("key-revoked.{id}.0.0"),
            &format!("hello.{id}.0"),
        ] {
            assert_eq!(Flash::parse(text), None, "{text}");
        }
    }
}
