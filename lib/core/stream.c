/* stream.c - streams and events: the engine's. */
#include "lib/core/device.h"
#include "lib/core/live.h"

static const eg__streams *streams_of(const void *thing)
{
    return ((const struct eg_stream_head *)thing)->device->engine->streams;
}

/* Those of a device, or NULL with words. */
static const eg__streams *streams_on(const char *op, const char *what, const eg_device *d)
{
    if (!d) {
        return eg__null_argument(op, what), NULL;
    }
    if (!d->engine->streams) {
        return eg__fail_null(EG_EINVAL, op, "%s has no streams or events", d->id ? d->name : "the CPU");
    }
    return d->engine->streams;
}

eg_stream *eg_stream_new(eg_device *device)
{
    const eg__streams *s = streams_on("eg_stream_new", "device", device);
    return s ? s->make(device) : NULL;
}

eg_status eg_stream_free(eg_stream *stream)
{
    return stream ? streams_of(stream)->free(stream) : EG_OK;
}

eg_stream *eg_use_stream(eg_stream *stream)
{
    return stream ? streams_of(stream)->use(eg__thread_get(), stream)
                  : (eg__null_argument("eg_use_stream", "stream"), NULL);
}

eg_stream *eg_stream_own(eg_device *device)
{
    const eg__streams *s = streams_on("eg_stream_own", "device", device);
    return s ? s->own(eg__thread_get(), device) : NULL;
}

eg_status eg_stream_synchronize(eg_stream *stream)
{
    return stream ? streams_of(stream)->synchronize(stream) : eg__null_argument("eg_stream_synchronize", "stream");
}

void *eg_stream_handle(eg_stream *stream)
{
    return stream ? streams_of(stream)->handle(stream) : NULL;
}

eg_event *eg_event_new(eg_device *device)
{
    const eg__streams *s = streams_on("eg_event_new", "device", device);
    return s ? s->event_make(device) : NULL;
}

eg_status eg_event_free(eg_event *event)
{
    if (!event) {
        return EG_OK;
    }
    return eg__handle_ends(event, "eg_event_free") ? streams_of(event)->event_free(event) : eg__why();
}

eg_status eg_event_record(eg_event *event)
{
    return event ? streams_of(event)->event_record(eg__thread_get(), event)
                 : eg__null_argument("eg_event_record", "event");
}

eg_status eg_event_wait(eg_event *event)
{
    return event ? streams_of(event)->event_wait(eg__thread_get(), event) : eg__null_argument("eg_event_wait", "event");
}

eg_status eg_event_synchronize(eg_event *event)
{
    return event ? streams_of(event)->event_synchronize(event) : eg__null_argument("eg_event_synchronize", "event");
}

eg_status eg_event_elapsed(eg_event *from, eg_event *to, double *ms)
{
    if (!from || !to || !ms) {
        return eg__null_argument("eg_event_elapsed", !from ? "from" : !to ? "to" : "ms");
    }
    return streams_of(from)->event_elapsed(from, to, ms);
}
