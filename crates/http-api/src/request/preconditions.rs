//! The preconditions `If-Match` and `If-None-Match` (RFC 9110 §13.1).

use keyward_domain::api_key::{KeyPrecondition, KeyVersion};
use keyward_domain::holder::Holder;
use keyward_domain::id::ApiKeyId;
use keyward_domain::keys::{PersonalKeys, ReadKeyError};
use poem::Request;
use poem::http::{HeaderName, header};

use super::headers::ReadHeader;
use crate::entity_tag::{self, EntityTags, MalformedTags};
use crate::problem::{Code, Problem};

/// The optional headers `If-Match` and `If-None-Match`. The document declares only the first as a
/// parameter: with one more, programs would not compile any more with clients of which parameters are
/// positional.
pub(crate) struct Preconditions {
    wanted: KeyPrecondition,
    /// Versions to which the change does not apply.
    unwanted: Vec<KeyVersion>,
}

impl Preconditions {
    /// The precondition of the change. If there are unwanted versions, it is the key's present version, so
    /// that the key cannot get an unwanted one in between.
    ///
    /// # Errors
    /// The key had to be read, and was not.
    pub(crate) async fn for_key(
        self,
        keys: &PersonalKeys,
        holder: &Holder,
        id: ApiKeyId,
    ) -> Result<KeyPrecondition, ReadKeyError> {
        if self.unwanted.is_empty() {
            return Ok(self.wanted);
        }
        let key = keys.read(holder, id).await?;
        let present = key.version();
        let is_met = self.wanted.is_met_by(&key) && !self.unwanted.contains(&present);
        let versions = if is_met { vec![present] } else { Vec::new() };
        Ok(KeyPrecondition::OneOf(versions))
    }
}

impl ReadHeader for Preconditions {
    fn read(request: &Request) -> Result<Self, Problem> {
        let wanted = match tags(request, &header::IF_MATCH, "If-Match")? {
            // `*` requires that the key exists, and a missing key is answered with 404 anyway.
            None | Some(EntityTags::Any) => KeyPrecondition::AnyVersion,
            Some(EntityTags::OneOf(tags)) => {
                // Weak tags never match (strong comparison).
                let strong = tags.iter().filter(|(_, is_weak)| !is_weak);
                KeyPrecondition::OneOf(versions(strong))
            }
        };
        Ok(match tags(request, &header::IF_NONE_MATCH, "If-None-Match")? {
            None => Self {
                wanted,
                unwanted: Vec::new(),
            },
            // No key that exists meets it.
            Some(EntityTags::Any) => Self {
                wanted: KeyPrecondition::OneOf(Vec::new()),
                unwanted: Vec::new(),
            },
            Some(EntityTags::OneOf(tags)) => Self {
                wanted,
                unwanted: versions(&tags),
            },
        })
    }
}

fn tags(request: &Request, header: &HeaderName, name: &str) -> Result<Option<EntityTags>, Problem> {
    entity_tag::read(request, header).map_err(|MalformedTags| {
        let detail = format!(
            "The header `{name}` must be `*` or a list of entity tags, each in quotation marks, as the header `ETag` of \
             an answer has them."
        );
        Problem::with_detail(Code::MalformedRequest, detail)
    })
}

/// The versions named by tags. Tags in an unknown format match no key.
fn versions<'t>(tags: impl IntoIterator<Item = &'t (String, bool)>) -> Vec<KeyVersion> {
    tags.into_iter()
        .filter_map(|(tag, _)| KeyVersion::parse(tag).ok())
        .collect()
}
