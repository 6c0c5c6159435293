/*
 * A model on loopback that plays a script: it makes the next tool call of its script, then it ends with a sentence.
 * It speaks the protocols of the three programs: the Messages API of Anthropic, the Gemini API, and the streamed
 * Responses API of OpenAI.
 */
import { createServer } from 'node:http'
import { once } from 'node:events'

const FINAL = 'That is all.'

/**
 * `script`: the calls `{ tool, input }`. `told`: the result of each call that the model received, as text.
 * `tools`: the names of the tools that the program offered.
 */
export async function startModel() {
  const state = { script: [], told: [], tools: [], requests: [] }
  const server = createServer((request, response) => {
    const parts = []
    request.on('data', (part) => parts.push(part))
    request.on('end', () => void answer(state, request, response, Buffer.concat(parts).toString()))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    state,
    play: (script) => Object.assign(state, { script, told: [], tools: [], requests: [] }),
    stop: () => server.close().closeAllConnections(),
  }
}

async function answer(state, request, response, text) {
  const path = request.url ?? ''
  const body = text === '' ? {} : JSON.parse(text)
  state.requests.push({ path, body })
  const dialect = DIALECTS.find(({ speaks }) => speaks(path))
  if (dialect === undefined) return response.writeHead(404).end('{}')
  const { tools, results, write } = dialect
  const offered = tools(body)
  // what a program asks beside the conversation (a title, a route) offers no tools
  if (offered.length === 0) return write(response, body, undefined)
  state.tools = offered
  const told = results(body)
  state.told = told
  const step = state.script[told.length]
  const next = typeof step === 'function' ? step(body) : step
  await next?.before?.()
  write(response, body, next)
}

function sse(response, events) {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const [event, data] of events) {
    if (event !== undefined) response.write(`event: ${event}\n`)
    response.write(`data: ${JSON.stringify(data)}\n\n`)
  }
  response.end()
}

const flat = (value) => (typeof value === 'string' ? value : JSON.stringify(value))

const ANTHROPIC = {
  speaks: (path) => path.startsWith('/v1/messages'),
  tools: ({ tools = [] }) => tools.map(({ name }) => name),
  results: ({ messages = [] }) =>
    messages
      .flatMap(({ content }) => (Array.isArray(content) ? content : []))
      .filter(({ type }) => type === 'tool_result')
      .map(({ content }) => flat(content)),
  write: (response, { model, stream }, call) => {
    const block =
      call === undefined
        ? { type: 'text', text: FINAL }
        : { type: 'tool_use', id: `toolu_${crypto.randomUUID()}`, name: call.tool, input: call.input }
    const usage = { input_tokens: 1, output_tokens: 1 }
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model, content: [], usage }
    const stop_reason = call === undefined ? 'end_turn' : 'tool_use'
    if (!stream)
      return response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ ...message, content: [block], stop_reason, stop_sequence: null, ...usage }))
    const [empty, delta] =
      call === undefined
        ? [
            { type: 'text', text: '' },
            { type: 'text_delta', text: FINAL },
          ]
        : [
            { ...block, input: {} },
            { type: 'input_json_delta', partial_json: JSON.stringify(call.input) },
          ]
    const events = [
      { type: 'message_start', message: { ...message, stop_reason: null, stop_sequence: null } },
      { type: 'content_block_start', index: 0, content_block: empty },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
      { type: 'message_stop' },
    ]
    sse(
      response,
      events.map((event) => [event.type, event]),
    )
  },
}

const GEMINI = {
  speaks: (path) => path.startsWith('/v1beta/'),
  tools: ({ tools = [] }) =>
    tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations.map(({ name }) => name)),
  results: ({ contents = [] }) =>
    contents
      .flatMap(({ parts }) => parts ?? [])
      .filter(({ functionResponse }) => functionResponse !== undefined)
      .map(({ functionResponse }) => flat(functionResponse.response)),
  write: (response, _body, call) => {
    const part =
      call === undefined ? { text: FINAL } : { functionCall: { name: call.tool, args: call.input } }
    const said = {
      candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
      totalTokens: 1,
    }
    if (response.req.url.includes('streamGenerateContent')) return sse(response, [[undefined, said]])
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(said))
  },
}

const OPENAI = {
  speaks: (path) => path.startsWith('/v1/responses'),
  // a model that writes scripts gets its tools in the conversation
  tools: ({ tools = [], input = [] }) =>
    [
      ...tools,
      ...input.filter(({ type }) => type === 'additional_tools').flatMap((one) => one.tools),
    ].flatMap((tool) => tool.tools?.map(({ name }) => `${tool.name}/${name}`) ?? [tool.name ?? tool.type]),
  results: ({ input = [] }) =>
    input.filter(({ type }) => type?.endsWith('_call_output')).map(({ output }) => flat(output)),
  write: (response, _body, call) => {
    const id = crypto.randomUUID()
    const item =
      call === undefined
        ? {
            type: 'message',
            role: 'assistant',
            id: `msg_${id}`,
            content: [{ type: 'output_text', text: FINAL }],
          }
        : typeof call.input === 'string'
          ? {
              type: 'custom_tool_call',
              call_id: `call_${id}`,
              name: call.tool,
              namespace: call.namespace,
              input: call.input,
            }
          : {
              type: 'function_call',
              call_id: `call_${id}`,
              name: call.tool,
              namespace: call.namespace,
              arguments: JSON.stringify(call.input),
            }
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
    const events = [
      { type: 'response.created', response: { id } },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { id, usage } },
    ]
    sse(
      response,
      events.map((event) => [event.type, event]),
    )
  },
}

const DIALECTS = [ANTHROPIC, GEMINI, OPENAI]
