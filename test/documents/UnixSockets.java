import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import javax.net.SocketFactory;

/**
 * Connects JDBC to a server that listens only on a Unix socket, as those of the tests do: the driver's parameters
 * socketFactory=UnixSockets&socketFactoryArg=PATH.
 */
public class UnixSockets extends SocketFactory {
    private final String path;

    public UnixSockets(String path) {
        this.path = path;
    }

    @Override
    public Socket createSocket() {
        return new Socket() {
            private SocketChannel channel;

            @Override
            public void connect(SocketAddress ignored, int timeout) throws IOException {
                channel = SocketChannel.open(UnixDomainSocketAddress.of(path));
            }

            @Override
            public InputStream getInputStream() {
                return Channels.newInputStream(channel);
            }

            @Override
            public OutputStream getOutputStream() {
                return Channels.newOutputStream(channel);
            }

            @Override
            public void close() throws IOException {
                channel.close();
            }

            @Override
            public void setTcpNoDelay(boolean on) {
            }

            @Override
            public void setKeepAlive(boolean on) {
            }

            @Override
            public void setSoTimeout(int milliseconds) {
            }

            @Override
            public int getSoTimeout() {
                return 0;
            }
        };
    }

    private Socket refuse() {
        throw new UnsupportedOperationException();
    }

    @Override
    public Socket createSocket(String host, int port) {
        return refuse();
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress localHost, int localPort) {
        return refuse();
    }

    @Override
    public Socket createSocket(InetAddress host, int port) {
        return refuse();
    }

    @Override
    public Socket createSocket(InetAddress host, int port, InetAddress localHost, int localPort) {
        return refuse();
    }
}
