//! Strict parsing of forms and queries.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;

use keyward_domain::audit::RequestSource;
use keyward_domain::keys::IdempotencyKey;
use keyward_domain::organization::OrganizationName;
use keyward_domain::ports::DescendantKeys;
use keyward_domain::sign_in::password::Password;
use keyward_domain::user::DisplayName;
use percent_encoding::percent_decode_str;
use poem::error::ReadBodyError;
use poem::http::header;
use poem::{FromRequest, Request, RequestBody};

use crate::local_path::LocalPath;
use crate::paths;
use crate::reader::{Member, Owner, Reader, User, Visitor};
use crate::refusal::Refusal;
use crate::request_source::Source;

/// The maximum size of a form from a signed-in user.
const MAX_BYTES: usize = 64 * 1024;

/// The maximum size of a form that is read before authentication: enough for sign-in, joining and setup, and small
/// enough that strangers cannot fill the memory.
const MAX_BYTES_OF_STRANGER: usize =
    MAX_BYTES_OF_CHARACTER * (OrganizationName::MAX + DisplayName::MAX + Password::MAX) + 1024;

/// The maximum number of bytes of a form per character. Lengths are counted after Unicode Normalization Form C: a
/// Hangul syllable may come as three letters of three bytes, and each byte as three (`%E1`).
const MAX_BYTES_OF_CHARACTER: usize = 3 * 3 * 3;

// The names of the fields, the token of a link and the username are in the last KiB; and the sign-in form
// has, beside the password, the path of the next page.
const _: () = assert!(
    MAX_BYTES_OF_STRANGER >= MAX_BYTES_OF_CHARACTER * Password::MAX + 3 * LocalPath::MAX + 1024,
    "the sign-in form fits"
);

/// The hidden field of every form on a page of a signed-in user: the id of that user.
pub(crate) const USER: &str = "user";

/// The forms that people send who are not signed in. That of joining compares a field of its own.
const FORMS_OF_STRANGERS: [&str; 4] = [
    paths::SignIn::PATTERN,
    paths::Setup::PATTERN,
    paths::Join::PATTERN,
    paths::SignOut::PATTERN,
];

/// The fields of a form or query, each at most once.
#[derive(Default)]
pub(crate) struct Fields(HashMap<String, String>);

impl Fields {
    /// Reads `application/x-www-form-urlencoded` text (WHATWG URL §5.1), but refuses input that a browser never sends:
    /// a field twice, or bytes that are no UTF-8.
    fn parse(text: &str) -> Result<Self, Refusal> {
        let mut fields = HashMap::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match fields.entry(decoded(name)?) {
                Entry::Occupied(_) => return Err(Refusal::BadForm("A field was sent twice.")),
                Entry::Vacant(free) => free.insert(decoded(value)?),
            };
        }
        Ok(Self(fields))
    }

    /// The fields in a request's URL.
    pub(crate) fn in_query(request: &Request) -> Result<Self, Refusal> {
        let query = request.uri().query().unwrap_or_default();
        Self::parse(query).map_err(|_| Refusal::BadUrl)
    }

    /// A field that the page always sends, possibly empty.
    pub(crate) fn required(&self, name: &str) -> Result<&str, Refusal> {
        self.optional(name)
            .ok_or(Refusal::BadForm("A field of the form is missing."))
    }

    /// A field that may be absent: an unticked box, or part of a query.
    pub(crate) fn optional(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All names with their values, in no order.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        let fields = self.0.iter();
        fields.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The value that the form was opened with. If it is another one now, saving the form would undo a change that its user
    /// has not seen. Of two forms that are sent at the same moment, the later one wins: both may have read the value before.
    pub(crate) fn seen(&self, now: &str) -> String {
        self.optional("seen").unwrap_or(now).to_owned()
    }

    /// The mark of one showing of a form.
    pub(crate) fn idempotency_key(&self) -> Result<IdempotencyKey, Refusal> {
        let idempotency_key = IdempotencyKey::parse(self.required("idempotency_key")?);
        idempotency_key.map_err(|_| Refusal::BadForm("A hidden field of the form is invalid."))
    }

    /// Whether the descendants of revoked keys are revoked, too.
    pub(crate) fn descendants(&self) -> Result<DescendantKeys, Refusal> {
        match self.optional("descendants") {
            Some("revoke") => Ok(DescendantKeys::Revoke),
            None => Ok(DescendantKeys::Keep),
            Some(_) => Err(Refusal::BadForm("The choice about the other keys is invalid.")),
        }
    }

    /// Whether the confirmation box was ticked.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.optional("confirm") == Some("yes")
    }

    /// The suffixes of field names with this prefix, such as ticked boxes of a list, in no order.
    pub(crate) fn named_with(&self, prefix: &str) -> impl Iterator<Item = &str> {
        self.0.keys().filter_map(move |name| name.strip_prefix(prefix))
    }
}

fn decoded(text: &str) -> Result<String, Refusal> {
    let text = text.replace('+', " ");
    match percent_decode_str(&text).decode_utf8() {
        Ok(decoded) => Ok(decoded.into_owned()),
        Err(_) => Err(Refusal::BadForm("A field is not text.")),
    }
}

/// The sender of a form, the form, and the source of the request.
///
/// A form may take long to arrive, so its sender's access is checked again at its end, and only then are its fields
/// checked, so that strangers learn nothing from errors. Another user may have signed in in another tab since the page
/// was rendered; the form is not carried out for them.
pub(crate) struct Sent<Sender>(pub(crate) Sender, pub(crate) Fields, pub(crate) RequestSource);

/// A form of any visitor, signed in or not.
pub(crate) type VisitorForm = Sent<Visitor>;
/// A form of a signed-in user.
pub(crate) type UserForm = Sent<User>;
/// A form of a member of the organization in the path.
pub(crate) type MemberForm = Sent<Member>;
/// A form of an owner of the organization in the path.
pub(crate) type OwnerForm = Sent<Owner>;

impl<'a, Sender: Reader> FromRequest<'a> for Sent<Sender> {
    async fn from_request(request: &'a Request, body: &mut RequestBody) -> poem::Result<Self> {
        let arrived = arrived(request, body).await;
        let visitor = Visitor::identify(request).await?;
        let form = arrived.and_then(|bytes| Ok(fields_in(request, &bytes)?));
        if let (Ok(form), Some(signed_in)) = (&form, &visitor.signed_in) {
            let user = &signed_in.user;
            if form.optional(USER).is_some_and(|id| id != user.id.to_string()) {
                return Err(Refusal::FormOfAnotherUser(Box::new(user.clone())).into());
            }
        }
        let must_have_user = visitor.signed_in.is_some() && !is_of_strangers(request);
        let sender = Sender::admit(visitor, request).await?;
        let form = form?;
        if must_have_user {
            form.required(USER)?;
        }
        let Source(source) = Source::from_request(request, body).await?;
        Ok(Self(sender, form, source))
    }
}

async fn arrived(request: &Request, body: &mut RequestBody) -> poem::Result<Vec<u8>> {
    let most_bytes = most_bytes(request).await?;
    let bytes = body.take()?.into_bytes_limit(most_bytes).await;
    Ok(bytes.map_err(unreadable)?.into())
}

fn fields_in(request: &Request, bytes: &[u8]) -> Result<Fields, Refusal> {
    if !is_urlencoded(request) {
        return Err(Refusal::UnsupportedForm);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Refusal::BadForm("The form is not text."))?;
    Fields::parse(text)
}

/// The size limit for this form. Only a form larger than a stranger's limit is authenticated before it is read; all
/// others are authenticated afterwards, because reading may take long.
async fn most_bytes(request: &Request) -> poem::Result<usize> {
    if announced_bytes(request).is_some_and(|bytes| bytes <= MAX_BYTES_OF_STRANGER)
        || is_of_strangers(request)
    {
        return Ok(MAX_BYTES_OF_STRANGER);
    }
    User::of(request).await?;
    Ok(MAX_BYTES)
}

fn is_of_strangers(request: &Request) -> bool {
    FORMS_OF_STRANGERS.contains(&request.uri().path())
}

/// `None` for a body that is sent in chunks, which browsers do not do with forms.
fn announced_bytes(request: &Request) -> Option<usize> {
    request.header(header::CONTENT_LENGTH)?.parse().ok()
}

fn is_urlencoded(request: &Request) -> bool {
    let mut types = request.headers().get_all(header::CONTENT_TYPE).iter();
    let (Some(value), None) = (types.next(), types.next()) else {
        return false;
    };
    let essence = value
        .to_str()
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    essence
        .trim()
        .eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

fn unreadable(error: ReadBodyError) -> Refusal {
    match error {
        ReadBodyError::PayloadTooLarge => Refusal::FormTooLarge,
        ReadBodyError::Io(error) if error.kind() == io::ErrorKind::FileTooLarge => Refusal::FormTooLarge,
        ReadBodyError::Io(error) if error.kind() == io::ErrorKind::TimedOut => Refusal::FormTooSlow,
        ReadBodyError::Io(_) | ReadBodyError::Utf8(_) | ReadBodyError::BodyHasBeenTaken => {
            Refusal::BadForm("The form is incomplete.")
        }
    }
}

/// The query in a request's URL.
pub(crate) struct Query(pub(crate) Fields);

impl<'a> FromRequest<'a> for Query {
    async fn from_request(request: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        Ok(Self(Fields::in_query(request)?))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngSeed};

    use super::*;

    #[test]
    fn fields_are_decoded_as_browsers_encode_them() {
        let fields = Fields::parse("name=a+b%20%C3%A9%2B&empty=&bare").expect("fields");
        assert_eq!(fields.optional("name"), Some("a b é+"));
        assert_eq!(fields.optional("empty"), Some(""));
        assert_eq!(fields.optional("bare"), Some(""));
        assert_eq!(fields.optional("absent"), None);
        assert!(fields.required("absent").is_err());
    }

    #[test]
    fn repeated_fields_and_invalid_encoding_are_rejected() {
        for text in ["a=1&a=2", "a=1&%61=2", "a=%ff", "%ff=a"] {
            assert!(Fields::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #![proptest_config(Config { rng_seed: RngSeed::Fixed(1866), failure_persistence: None, ..Config::default() })]

        #[test]
        fn any_fields_are_read_as_they_were_encoded(sent: BTreeMap<String, String>) {
            let encoded = |text| utf8_percent_encode(text, NON_ALPHANUMERIC);
            let pairs = sent.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
            let fields = Fields::parse(&pairs.collect::<Vec<_>>().join("&")).expect("fields");
            let expected = sent.into_iter().collect::<HashMap<_, _>>();
            prop_assert_eq!(fields.0, expected);
        }

        #[test]
        fn any_text_is_read_with_every_field_or_refused(text in "([&=+;a-c]|%[0-9a-f]{0,2}|é){0,10}") {
            let fields = text.split('&').filter(|pair| !pair.is_empty()).count();
            if let Ok(read) = Fields::parse(&text) {
                prop_assert_eq!(read.0.len(), fields);
            }
        }
    }
}
