//! The trace that a request belongs to, as its sender says (W3C Trace Context).

use poem::http::{HeaderMap, HeaderName};

use crate::request_id::only;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The lowest bit of the flags.
const SAMPLED: u8 = 1;

/// A valid `traceparent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent<'a> {
    /// 32 lowercase hexadecimal digits, not all zero.
    pub trace_id: &'a str,
    /// The sender's span: 16 lowercase hexadecimal digits, not all zero.
    pub span_id: &'a str,
    /// Whether the sender may have recorded its span.
    pub is_sampled: bool,
}

impl<'a> TraceParent<'a> {
    /// The request's `traceparent`, if there is exactly one and it is valid (W3C Trace Context §3.2).
    pub(crate) fn given_in(headers: &'a HeaderMap) -> Option<Self> {
        let parent = only(headers, &TRACEPARENT)?.to_str().ok()?;
        let mut fields = parent.split('-');
        let (version, trace_id, span_id, flags) =
            (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let is_hex = |field: &str, length: usize| {
            field.len() == length
                && field
                    .bytes()
                    .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let is_zero = |field: &str| field.bytes().all(|byte| byte == b'0');
        let is_valid = is_hex(version, 2)
            && version != "ff"
            && (version != "00" || fields.next().is_none())
            && is_hex(trace_id, 32)
            && !is_zero(trace_id)
            && is_hex(span_id, 16)
            && !is_zero(span_id)
            && is_hex(flags, 2);
        is_valid.then(|| Self {
            trace_id,
            span_id,
            is_sampled: u8::from_str_radix(flags, 16).is_ok_and(|flags| flags & SAMPLED == SAMPLED),
        })
    }
}

#[cfg(test)]
mod tests {
    use poem::http::HeaderValue;

    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    fn headers(values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(TRACEPARENT, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn valid_traceparent_is_read() {
        for (version, flags, more, is_sampled) in [
            ("00", "01", "", true),
            ("00", "00", "", false),
            ("00", "03", "", true),
            ("00", "02", "", false),
            ("cc", "01", "-more", true),
        ] {
            let headers = headers(&[&format!("{version}-{TRACE}-{SPAN}-{flags}{more}")]);
            let expected = TraceParent {
                trace_id: TRACE,
                span_id: SPAN,
                is_sampled,
            };
            assert_eq!(TraceParent::given_in(&headers), Some(expected), "{headers:?}");
        }
    }

    #[test]
    fn malformed_traceparent_is_ignored() {
        let valid = format!("00-{TRACE}-{SPAN}-01");
        for invalid in [
            "",
            TRACE,
            &format!("{valid}-more"),
            &format!("ff-{TRACE}-{SPAN}-01"),
            &format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            &format!("00-{}-{SPAN}-01", "0".repeat(32)),
            &format!("00-{TRACE}-0000000000000000-01"),
            &format!("00-{TRACE}-b7ad6b71692033-01"),
            &format!("00-{TRACE}-{SPAN}-1"),
            &format!("00-{TRACE}-{SPAN}-0g"),
            &format!("00-{TRACE}-{SPAN}"),
        ] {
            assert_eq!(TraceParent::given_in(&headers(&[invalid])), None, "{invalid}");
        }
        assert_eq!(TraceParent::given_in(&headers(&[&valid, &valid])), None);
        assert_eq!(TraceParent::given_in(&headers(&[])), None);
    }
}
