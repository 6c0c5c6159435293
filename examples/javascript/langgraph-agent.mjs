/*
 * A refund agent in LangGraph that you may kill during the review.
 *
 *     node langgraph-agent.mjs start    proposes the refund, and ends with a held call
 *     node langgraph-agent.mjs resume   continues in a new process after the decision
 *
 * Set COUNTERSIGN_URL and COUNTERSIGN_AGENT_KEY. The agent keeps its state in agent.json.
 * Its model is scripted, so that it runs anywhere.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createGate } from '@countersign/sdk'
import { countersign, resumeAll } from '@countersign/sdk/langchain'
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage } from '@langchain/core/messages'
import { Command, interrupt, MemorySaver } from '@langchain/langgraph'
import { createAgent, createMiddleware, tool } from 'langchain'
import { z } from 'zod'

/** Calls the refund tool, then repeats the tool's result. Replace this class with a real model. */
class ScriptedModel extends BaseChatModel {
  _llmType() {
    return 'scripted'
  }
  bindTools() {
    return this
  }
  async _generate(messages) {
    const last = messages.at(-1)
    const call = {
      name: 'refund',
      args: { order: 'A-7', amount_cents: 12_500 },
      id: 'call_1',
      type: 'tool_call',
    }
    const message =
      last.type === 'tool'
        ? new AIMessage(`The tool answered: ${last.text}`)
        : new AIMessage({ content: '', tool_calls: [call] })
    return { generations: [{ text: message.text, message }] }
  }
}

/** Checkpoints in one file. Replace this class with the checkpointer of your database. */
class FileSaver extends MemorySaver {
  constructor(path) {
    super()
    this.path = path
    const revive = (_, one) =>
      one?.bytes === undefined ? one : new Uint8Array(Buffer.from(one.bytes, 'base64'))
    if (existsSync(path)) Object.assign(this, JSON.parse(readFileSync(path, 'utf8'), revive))
  }
  async put(...given) {
    return this.save(await super.put(...given))
  }
  async putWrites(...given) {
    return this.save(await super.putWrites(...given))
  }
  save(result) {
    const { storage, writes } = this
    const plain = (_, one) =>
      one instanceof Uint8Array ? { bytes: Buffer.from(one).toString('base64') } : one
    writeFileSync(`${this.path}.new`, JSON.stringify({ storage, writes }, plain))
    renameSync(`${this.path}.new`, this.path)
    return result
  }
}

const refund = tool(({ order, amount_cents }) => `refunded ${(amount_cents / 100).toFixed(2)} for ${order}`, {
  name: 'refund',
  description: 'Refunds an order.',
  schema: z.object({ order: z.string(), amount_cents: z.number().int() }),
})

const gate = createGate()
const stateSchema = z.object({ countersign: z.any().optional() }) // keeps the handles in the checkpoint
const guarded = createMiddleware(countersign(gate, [refund], { prefix: 'payments.', interrupt, stateSchema }))
const checkpointer = new FileSaver('agent.json')
const agent = createAgent({
  model: new ScriptedModel({}),
  tools: [refund],
  middleware: [guarded],
  checkpointer,
})
const config = { configurable: { thread_id: 'case-7' } }

const isStart = process.argv[2] === 'start'
const messages = [{ role: 'user', content: 'Refund order A-7' }]
const given = isStart ? { messages } : new Command(await resumeAll(agent.graph, config))
const result = await agent.invoke(given, config)
console.log(
  result.__interrupt__ === undefined ? result.messages.at(-1).text : 'held: reviewers have to decide',
)
await gate.settled()
