/*
 * An MCP server of the official SDK, as somebody else would write it. Its tools write what they did into the file that is its first argument, and say which
 * variables of the environment it was given.
 */
import { appendFileSync } from 'node:fs'
import { Server } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

const [, , file] = process.argv
const schema = { type: 'object', properties: { amount: { type: 'integer' } } }
const tools = ['pay', 'hold', 'bare'].map((name) => ({ name, description: name, inputSchema: schema }))

serveStdio(() => {
  const server = new Server({ name: 'ledger', version: '1.0.0' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', () => ({ tools }))
  server.setRequestHandler('tools/call', ({ params }) => {
    appendFileSync(file, `${JSON.stringify(params)}\n`)
    if (params.arguments?.amount === 13)
      return { content: [{ type: 'text', text: 'no luck' }], isError: true }
    const names = Object.keys(process.env).filter((name) => name.startsWith('COUNTERSIGN'))
    return { content: [{ type: 'text', text: `done, and knows [${names.join()}]` }] }
  })
  return server
})
