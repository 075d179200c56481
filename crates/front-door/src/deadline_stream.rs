//! The socket, failing when the connection's deadline has passed.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep_until},
};

use crate::activity::Activity;

/// A client's socket. Whatever waits for the client ends with `TimedOut` at its [`Activity`]'s deadline.
///
/// hyper has a deadline for headers only, and counts the time between requests into it.
pub(crate) struct DeadlineStream {
    socket: TcpStream,
    activity: Arc<Activity>,
    alarm: Pin<Box<Sleep>>,
}

impl DeadlineStream {
    pub(crate) fn new(socket: TcpStream, activity: Arc<Activity>) -> Self {
        let alarm = Box::pin(sleep_until(activity.deadline().unwrap_or_else(Instant::now)));
        Self {
            socket,
            activity,
            alarm,
        }
    }

    pub(crate) fn into_socket(self) -> TcpStream {
        self.socket
    }

    /// Passes on what the socket said, unless it must wait and the deadline has passed.
    fn unless_late<T>(
        &mut self,
        context: &mut Context<'_>,
        socket: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if socket.is_ready() {
            return socket;
        }
        let Some(deadline) = self.activity.deadline() else {
            return Poll::Pending;
        };
        if self.alarm.deadline() != deadline {
            self.alarm.as_mut().reset(deadline);
        }
        self.alarm
            .as_mut()
            .poll(context)
            .map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for DeadlineStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled_before = buffer.filled().len();
        let read = Pin::new(&mut self.socket).poll_read(context, buffer);
        if buffer.filled().len() > filled_before {
            self.activity.bytes_arrived();
        }
        self.unless_late(context, read)
    }
}

impl AsyncWrite for DeadlineStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.unless_late(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(context, slices);
        self.unless_late(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // hyper flushes after it has written all of its buffer.
        let flushed = Pin::new(&mut self.socket).poll_flush(context);
        if flushed.is_ready() {
            self.activity.buffer_sent();
        }
        self.unless_late(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
