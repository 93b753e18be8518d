// One node of a cluster of Aedes: node.mjs PORT REDIS_PORT. Its log has the clients that come.
import { createServer } from 'node:net'
import { Aedes } from 'aedes'
import persistence from 'aedes-persistence-redis'
import emitter from 'mqemitter-redis'

const [port, redis] = process.argv.slice(2).map(Number)
const connection = { host: '127.0.0.1', port: redis }
// A node that says nothing for three times as long is taken for gone, and the wills of its clients are published.
const aedes = await Aedes.createBroker({
  heartbeatInterval: 1000, mq: emitter(connection), persistence: persistence(connection)
})
// One message after the other: one that is overtaken, as those that are stored by those that are not, is taken for a
// duplicate and not delivered (https://github.com/moscajs/aedes-persistence-mongodb/issues/27).
let last = Promise.resolve()
const ends = new WeakMap()
aedes.authorizePublish = (_, packet, allow) => {
  const before = last
  last = new Promise((resolve) => ends.set(packet, resolve))
  before.then(() => allow(null))
}
aedes.published = (packet, _, done) => {
  ends.get(packet)?.()
  done()
}
createServer(aedes.handle).listen(port, '127.0.0.1', () => console.log('listening'))
aedes.on('clientReady', (client) => console.log(`has ${client.id}`))
