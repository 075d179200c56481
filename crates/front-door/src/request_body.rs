//! A request's body with its deadline and cap.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{activity::Activity, refusal::RefusalReason};

/// Why reading a request's body failed: inside the [`io::Error`] that the reader gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BodyFailure {
    /// It did not arrive in time. The error is of kind [`io::ErrorKind::TimedOut`].
    #[error("the request body did not arrive in time")]
    TooSlow,
    /// It is too long. The error is of kind [`io::ErrorKind::FileTooLarge`].
    #[error("the request body is too large")]
    TooLarge,
}

impl BodyFailure {
    fn into_error(self) -> io::Error {
        let kind = match self {
            Self::TooSlow => io::ErrorKind::TimedOut,
            Self::TooLarge => io::ErrorKind::FileTooLarge,
        };
        io::Error::new(kind, self)
    }
}

impl From<BodyFailure> for RefusalReason {
    fn from(failure: BodyFailure) -> Self {
        match failure {
            BodyFailure::TooSlow => Self::BodyTooSlow,
            BodyFailure::TooLarge => Self::BodyTooLarge,
        }
    }
}

/// How far the application is with a request's body.
#[derive(Debug)]
pub(crate) struct BodyProgress(Mutex<Progress>);

#[derive(Clone, Copy, Debug)]
enum Progress {
    Untouched,
    WaitingForClient,
    Ended {
        at: Instant,
        failure: Option<BodyFailure>,
    },
}

impl BodyProgress {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Progress::Untouched))
    }

    /// Why reading failed, if it did.
    pub(crate) fn failure(&self) -> Option<BodyFailure> {
        match *self.0.lock() {
            Progress::Ended { failure, .. } => failure,
            Progress::Untouched | Progress::WaitingForClient => None,
        }
    }

    /// Since when the application had all it needed, if it read the body; the latest possible, if it still
    /// reads.
    pub(crate) fn handler_waited_until(&self, body_deadline: Instant) -> Option<Instant> {
        match *self.0.lock() {
            Progress::Untouched => None,
            Progress::WaitingForClient => Some(body_deadline),
            Progress::Ended { at, .. } => Some(at),
        }
    }
}

/// Ready when the body should have arrived.
pub(crate) type TooSlow = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

/// Fails with [`BodyFailure`] at its deadline and beyond its cap, and at every read after that.
pub(crate) struct RequestBody {
    inner: BoxBody<Bytes, io::Error>,
    was_read: bool,
    bytes_left: usize,
    too_slow: TooSlow,
    progress: Arc<BodyProgress>,
    activity: Arc<Activity>,
}

impl RequestBody {
    pub(crate) fn new(
        inner: BoxBody<Bytes, io::Error>,
        most_bytes: usize,
        too_slow: TooSlow,
        progress: Arc<BodyProgress>,
        activity: Arc<Activity>,
    ) -> Self {
        Self {
            inner,
            was_read: false,
            bytes_left: most_bytes,
            too_slow,
            progress,
            activity,
        }
    }

    fn end(&self, failure: Option<BodyFailure>) {
        *self.progress.0.lock() = Progress::Ended {
            at: Instant::now(),
            failure,
        };
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if let Some(failure) = self.progress.failure() {
            return Poll::Ready(Some(Err(failure.into_error())));
        }
        let failure = match Pin::new(&mut self.inner).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                let bytes = frame.data_ref().map_or(0, Bytes::len);
                match self.bytes_left.checked_sub(bytes) {
                    Some(bytes_left) => {
                        self.bytes_left = bytes_left;
                        return Poll::Ready(Some(Ok(frame)));
                    }
                    None => BodyFailure::TooLarge,
                }
            }
            Poll::Ready(end_or_error) => {
                self.was_read = end_or_error.is_none();
                self.end(None);
                return Poll::Ready(end_or_error);
            }
            Poll::Pending if self.too_slow.as_mut().poll(context).is_ready() => BodyFailure::TooSlow,
            Poll::Pending => {
                *self.progress.0.lock() = Progress::WaitingForClient;
                return Poll::Pending;
            }
        };
        self.end(Some(failure));
        Poll::Ready(Some(Err(failure.into_error())))
    }

    fn is_end_stream(&self) -> bool {
        self.progress.failure().is_none() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if !self.was_read && !self.inner.is_end_stream() {
            self.activity.body_left_unread();
        }
        if self.progress.failure().is_none() {
            self.end(None);
        }
    }
}
