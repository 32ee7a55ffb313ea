import java.io.*;

public class Records {
    public static void main(String[] args) throws Exception {
        OutputStream out = new FileOutputStream(args[0]);
        if (args[1].equals("buffer")) out = new BufferedOutputStream(out, 65536);
        for (int i = 0; i < 100000; i++) out.write(("record " + i + "\n").getBytes());
        out.close();
    }
}
