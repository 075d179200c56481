//! The audit log as a file. It is written while it is read: never more of it is held than one page.

use std::io;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use keyward_audit_export::{csv, json_lines};
use keyward_domain::administration::{AuditExport, AuditPage};
use keyward_domain::audit::RequestSource;
use keyward_domain::failure_sentence::sentence;
use keyward_domain::organization::Slug;
use keyward_domain::sign_in::session::SessionToken;
use poem::http::{Method, header};
use poem::{Body, Request, Response, handler};

use super::search::Search;
use crate::Console;
use crate::cookies;
use crate::forms::{Fields, Query};
use crate::reader::Owner;
use crate::refusal::Refusal;
use crate::request_source::Source;
use crate::same_origin;

#[handler]
pub(crate) async fn as_csv(
    owner: Owner,
    Query(query): Query,
    Source(source): Source,
    request: &Request,
) -> Result<Response, Refusal> {
    download(&owner, &query, source, request, Format::Csv).await
}

#[handler]
pub(crate) async fn as_json_lines(
    owner: Owner,
    Query(query): Query,
    Source(source): Source,
    request: &Request,
) -> Result<Response, Refusal> {
    download(&owner, &query, source, request, Format::JsonLines).await
}

#[derive(Debug, Clone, Copy)]
enum Format {
    Csv,
    JsonLines,
}

async fn download(
    owner: &Owner,
    query: &Fields,
    source: RequestSource,
    request: &Request,
    format: Format,
) -> Result<Response, Refusal> {
    let console = &owner.console;
    if same_origin::is_cross_site(request, &console.public_url) {
        let public_url = console.public_url.clone();
        return Err(Refusal::CrossSite { public_url });
    }
    let search = Search::read(owner, query).await?;
    // A file is kept and passed on, so a wrong filter is refused rather than ignored.
    if search.has_errors() {
        return Err(Refusal::BadUrl);
    }
    let slug = owner.slug().clone();
    let name = format!("attachment; filename=\"{slug}-audit-log.{}\"", format.extension());
    let file = Response::builder()
        .content_type(format.content_type())
        .header(header::CONTENT_DISPOSITION, name);
    if *request.method() == Method::HEAD {
        return Ok(file.finish());
    }
    let mut download = Download {
        console: Arc::clone(console),
        token: cookies::SESSION
            .read(request.headers(), &console.public_url)
            .ok_or(Refusal::NotFound)?,
        slug,
        export: console
            .audit_trail
            .export(&owner.authority, search.filter(), source),
        format,
    };
    // The first piece is read before the answer: if the store fails, the answer is an error page instead of a broken
    // file.
    let mut first = format.header().to_owned();
    let has_more = match download.export.next().await? {
        Some(page) => {
            first.push_str(&format.piece(&page)?);
            page.events.next.is_some()
        }
        None => false,
    };
    let rest = stream::try_unfold(download, Download::next_piece);
    let body = if has_more {
        Body::from_bytes_stream(stream::once(async { Ok(first) }).chain(rest))
    } else {
        Body::from_string(first)
    };
    Ok(file.body(body))
}

/// A file on its way to an owner.
struct Download {
    console: Arc<Console>,
    token: SessionToken,
    slug: Slug,
    export: AuditExport,
    format: Format,
}

impl Download {
    /// The next piece. A file that cannot go on breaks off: the browser shows it as failed, and not as a short one.
    async fn next_piece(mut self) -> io::Result<Option<(String, Self)>> {
        let piece = self
            .piece()
            .await
            .inspect_err(|broken_off| broken_off.log(&self.slug));
        Ok(piece.map_err(io::Error::other)?.map(|piece| (piece, self)))
    }

    async fn piece(&mut self) -> Result<Option<String>, ExportAborted> {
        // An owner who is removed, demoted or signed out meanwhile gets no more of it.
        if !self.is_still_owner().await? {
            return Err(ExportAborted::OwnerGone);
        }
        match self.export.next().await.map_err(Refusal::from)? {
            Some(page) => Ok(Some(self.format.piece(&page)?)),
            None => Ok(None),
        }
    }

    async fn is_still_owner(&self) -> Result<bool, Refusal> {
        let Some(signed_in) = self.console.sign_in.signed_in(&self.token).await? else {
            return Ok(false);
        };
        let (memberships, now) = (&self.console.memberships, self.console.now());
        let member = memberships.find_live(signed_in.user.id, &self.slug, now).await?;
        Ok(member.is_some_and(|member| member.as_authority(now).is_some()))
    }
}

/// Why a file did not come to its end.
#[derive(Debug, thiserror::Error)]
enum ExportAborted {
    /// The owner who asked for it has been removed, demoted or signed out meanwhile.
    #[error("the user who started it has signed out or is no longer an owner")]
    OwnerGone,
    /// The rest could not be read or written.
    #[error(transparent)]
    Failed(#[from] Refusal),
}

impl ExportAborted {
    /// The front door adds the id of the request.
    fn log(&self, organization: &Slug) {
        match self {
            Self::OwnerGone => {
                tracing::warn!(%organization, reason = %self, "audit log export stopped");
            }
            Self::Failed(refusal) => {
                tracing::error!(%organization, error = sentence(refusal), "audit log export failed");
            }
        }
    }
}

impl Format {
    const fn header(self) -> &'static str {
        match self {
            Self::Csv => csv::HEADER,
            Self::JsonLines => "",
        }
    }

    const fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::JsonLines => "jsonl",
        }
    }

    const fn content_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::JsonLines => "application/jsonl; charset=utf-8",
        }
    }

    fn piece(self, page: &AuditPage) -> Result<String, Refusal> {
        match self {
            Self::Csv => Ok(csv::records(page)),
            Self::JsonLines => Ok(json_lines::of_page(page)?),
        }
    }
}
