//! Flash messages: what a form did is said by the page that it leads to, once. The message waits in a cookie, so no link
//! can claim that something happened.

use poem::http::{HeaderMap, HeaderValue};
use uuid::Uuid;

use crate::cookies;
use keyward_domain::public_url::PublicUrl;

/// A message of a closed set, and what it is about. Names are looked up by whoever shows it: on a local installation,
/// other programs on the same host can set the cookie, so nothing in it is shown as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flash {
    pub(crate) message: Message,
    /// The identifier of the key, member or project.
    pub(crate) about: Option<Uuid>,
    /// How many others it happened to.
    pub(crate) others: u32,
}

/// `Place { Message = "code", … }`: what a page of each place can say.
macro_rules! messages {
    ($($place:ident { $($(#[$doc:meta])* $message:ident = $code:literal,)+ })+) => {
        /// What a page can say.
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

            const fn place(self) -> Place {
                match self {
                    $($(Self::$message)|+ => Place::$place,)+
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
        /// A whole token was searched for, which leads to the search for its last four characters.
        TokenLeftOut = "token-left-out",
        SteppedDown = "stepped-down",
        DefaultForNewKeysChosen = "default-for-new-keys-chosen",
    }
    Owner {
        MadeOwner = "made-owner",
        MadeMember = "made-member",
        MemberRemoved = "member-removed",
        /// The form was sent twice.
        InvitationAlreadyCreated = "invitation-already-created",
        InvitationTakenBack = "invitation-taken-back",
        /// It had expired.
        InvitationDeleted = "invitation-deleted",
        /// Somebody joined with it before it could be taken back.
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

/// The pages that say a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    SignIn,
    Account,
    Home,
    /// Those of one-time links.
    Link,
    /// Those of an organization that every member has.
    Member,
    /// Those that only its owners have.
    Owner,
}

impl Message {
    /// Whether a page of this place shows it. Whoever is signed out is led to the sign-in page in place of the list.
    pub(crate) fn appears_on(self, place: Place) -> bool {
        self.place() == place || (self == Self::TokenLeftOut && place == Place::SignIn)
    }

    /// About this one.
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

    fn to_text(self) -> String {
        let code = self.message.code();
        match self.about {
            Some(about) => format!("{code}.{}.{}", about.simple(), self.others),
            None => code.to_owned(),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let mut flash = Self::from(Message::from_code(parts.next()?)?);
        if let Some(about) = parts.next() {
            flash.about = Some(about.parse().ok()?);
            flash.others = parts.next()?.parse().ok()?;
        }
        parts.next().is_none().then_some(flash)
    }
}

/// The name and attributes of the cookie, bound to the host as the session's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlashCookie {
    name: &'static str,
    attributes: &'static str,
}

impl FlashCookie {
    /// Time to follow a redirect, in seconds.
    const MAX_AGE: u32 = 60;

    pub(crate) fn of(public_url: &PublicUrl) -> Self {
        if public_url.is_https() {
            Self {
                name: "__Host-flash",
                attributes: "Path=/; Secure; HttpOnly; SameSite=Lax",
            }
        } else {
            Self {
                name: "flash",
                attributes: "Path=/; HttpOnly; SameSite=Lax",
            }
        }
    }

    /// The message that waits, if there is one that is ours.
    pub(crate) fn read(self, headers: &HeaderMap) -> Option<Flash> {
        cookies::values(headers, self.name).find_map(Flash::parse)
    }

    /// The header that leaves a message for the next page.
    pub(crate) fn set(self, flash: Flash) -> HeaderValue {
        let (Self { name, attributes }, text, seconds) = (self, flash.to_text(), Self::MAX_AGE);
        cookies::set_cookie(&format!("{name}={text}; {attributes}; Max-Age={seconds}"))
    }

    /// The header of the page that says it.
    pub(crate) fn remove(self) -> HeaderValue {
        cookies::set_cookie(&format!("{}=; {}; Max-Age=0", self.name, self.attributes))
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

    #[test]
    fn flash_cookie_has_host_prefix_over_https() {
        for (public_url, expected) in [
            (
                "https://keys.example.com",
                "__Host-flash=signed-out; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=60",
            ),
            (
                "http://localhost:8080",
                "flash=signed-out; Path=/; HttpOnly; SameSite=Lax; Max-Age=60",
            ),
        ] {
            let cookie = FlashCookie::of(&PublicUrl::parse(public_url).expect("a URL"));
            assert_eq!(cookie.set(Message::SignedOut.into()), expected);
        }
    }
}
