//! Style and script of the pages, each under a name with a content digest, so that browsers may cache it for
//! ever.

use std::sync::LazyLock;

use poem::error::NotFoundError;
use poem::http::{StatusCode, header};
use poem::web::Path;
use poem::{Request, Response, handler};
use rust_embed::{Embed, EmbeddedFile};

use crate::{entity_tag, paths};

#[derive(Embed)]
#[folder = "assets/"]
struct Embedded;

/// A file and how it is served.
struct Asset {
    /// Its name with its digest: `reference-0123456789abcdef.css`.
    name: String,
    opaque_tag: String,
    content_type: &'static str,
    file: EmbeddedFile,
}

static STYLE: LazyLock<Option<Asset>> = LazyLock::new(|| load("css", "text/css; charset=utf-8"));
static SCRIPT: LazyLock<Option<Asset>> = LazyLock::new(|| load("js", "text/javascript; charset=utf-8"));

fn load(extension: &str, content_type: &'static str) -> Option<Asset> {
    const DIGEST_BYTES: usize = 8;
    let file = Embedded::get(&format!("reference.{extension}"))?;
    let digest = hex::encode(&file.metadata.sha256_hash()[..DIGEST_BYTES]);
    Some(Asset {
        name: format!("reference-{digest}.{extension}"),
        opaque_tag: digest,
        content_type,
        file,
    })
}

/// The path of the style sheet.
pub(crate) fn style() -> String {
    url(&STYLE)
}

/// The path of the script.
pub(crate) fn script() -> String {
    url(&SCRIPT)
}

fn url(asset: &Option<Asset>) -> String {
    asset
        .as_ref()
        .map_or_else(String::new, |asset| paths::asset(&asset.name))
}

/// Answers `GET /docs/{asset}`.
#[handler]
pub(crate) fn serve_asset(Path(name): Path<String>, request: &Request) -> Result<Response, NotFoundError> {
    let asset = [&*STYLE, &*SCRIPT]
        .into_iter()
        .flatten()
        .find(|asset| asset.name == name)
        .ok_or(NotFoundError)?;
    let response = Response::builder()
        .header(header::ETAG, format!("\"{}\"", asset.opaque_tag))
        .header(header::CACHE_CONTROL, "public, max-age=31536000, immutable");
    Ok(if entity_tag::client_has(request, &[&asset.opaque_tag]) {
        response.status(StatusCode::NOT_MODIFIED).finish()
    } else {
        response
            .content_type(asset.content_type)
            .body(asset.file.data.to_vec())
    })
}
