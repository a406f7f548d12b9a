// Server-sent events from the body of a response, as objects. Comments are passed over.
export async function* readEvents(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const lines = block.split("\n");
        const name = lines.find((line) => line.startsWith("event: "));
        const data = lines.find((line) => line.startsWith("data: "));
        if (name && data) yield { name: name.slice(7), data: JSON.parse(data.slice(6)) };
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
