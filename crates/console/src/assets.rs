//! Style, script and icon, each under a name with a content digest, so that browsers may cache it for ever.

use std::borrow::Cow;
use std::sync::LazyLock;

use poem::http::{HeaderValue, StatusCode, header};
use poem::{Request, Response, handler};
use rust_embed::Embed;

use crate::paths;
use crate::refusal::Refusal;

#[derive(Embed)]
#[folder = "assets/"]
struct Embedded;

/// A file and how it is served.
struct Asset {
    file_name: Cow<'static, str>,
    /// Such as `/assets/console-0123456789abcdef.css`.
    url: String,
    etag: HeaderValue,
    content_type: HeaderValue,
    content: Cow<'static, [u8]>,
}

static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| Embedded::iter().filter_map(asset).collect());

fn asset(file_name: Cow<'static, str>) -> Option<Asset> {
    const DIGEST_BYTES: usize = 8;
    let file = Embedded::get(&file_name)?;
    let (stem, extension) = file_name.rsplit_once('.')?;
    let content_type = match extension {
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "svg" => "image/svg+xml",
        _ => return None,
    };
    let digest = hex::encode(&file.metadata.sha256_hash()[..DIGEST_BYTES]);
    Some(Asset {
        url: paths::Asset(&format!("{stem}-{digest}.{extension}")).to_string(),
        etag: HeaderValue::from_str(&format!("\"{digest}\"")).ok()?,
        content_type: HeaderValue::from_static(content_type),
        content: file.data,
        file_name,
    })
}

/// The URL of an embedded file, for templates.
pub(crate) fn url(file_name: &str) -> &'static str {
    ASSETS
        .iter()
        .find(|asset| asset.file_name == file_name)
        .map_or("", |asset| &asset.url)
}

#[handler]
pub(crate) fn serve(request: &Request) -> Result<Response, Refusal> {
    let asset = ASSETS
        .iter()
        .find(|asset| asset.url == request.uri().path())
        .ok_or(Refusal::NotFound)?;
    let is_current = request
        .headers()
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|tag| tag.trim().trim_start_matches("W/") == asset.etag);
    let response = Response::builder()
        .header(header::ETAG, asset.etag.clone())
        .header(header::CACHE_CONTROL, "public, max-age=31536000, immutable");
    Ok(if is_current {
        response.status(StatusCode::NOT_MODIFIED).finish()
    } else {
        response
            .header(header::CONTENT_TYPE, asset.content_type.clone())
            .body(asset.content.to_vec())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_file_url_contains_its_digest() {
        for file in ["console.css", "console.js", "icon.svg"] {
            assert!(url(file).starts_with("/assets/"), "{file}");
        }
        assert_eq!(
            Embedded::iter().count(),
            ASSETS.len(),
            "a file of an unknown type"
        );
    }
}
