/*
 * An MCP server of the official SDK, as another author would write it. Its first argument names a file. Its tools write
 * to this file what they did, and which variables of the environment the server got.
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
